"""Changes become commits, while a person works in the same repository."""
