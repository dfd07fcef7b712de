"""A person who works in a vault with plain git while the program learns in it."""
