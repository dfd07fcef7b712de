"""Several clones of one vault: sync, roles, branches of proposals, and erasure."""
