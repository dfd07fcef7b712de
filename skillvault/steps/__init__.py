"""The day's work: a file a step, the registry that names them, and the loop that runs them."""
