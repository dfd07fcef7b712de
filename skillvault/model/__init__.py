"""Records, changes, policy and errors: values without I/O, clock or randomness."""
