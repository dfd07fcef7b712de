"""The files of a vault: their paths, the inbox, layers of skills, and secrets in texts."""
