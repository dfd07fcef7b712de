"""The steps that the profile `seed` does in another way; their rules: `learning/seed/`."""
