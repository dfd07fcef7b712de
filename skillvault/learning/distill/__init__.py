"""distill: the failures of a finished session, and what worked afterwards, become a skill."""
