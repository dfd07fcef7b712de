"""Several clones of one vault: sync."""
