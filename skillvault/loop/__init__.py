"""The learning loop: a run, the registry of steps, and one module for each step."""
