"""The judge of a vault: choose it, ask it, and check its replies."""
