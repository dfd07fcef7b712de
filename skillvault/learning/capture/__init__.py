"""The rule of `capture`: rules of agents that code supports become patterns, and back."""
