"""The vault's files: where they stand, how they read as text, what arrives."""
