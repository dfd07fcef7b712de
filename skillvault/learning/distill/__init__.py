"""distill: the failures of a finished session, and what then worked, become a skill."""
