"""The learning loop: a run, the registry of its steps, and one module a step."""
