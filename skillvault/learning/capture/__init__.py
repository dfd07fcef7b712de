"""Make patterns of the rules of agents that code supports; no I/O."""
