"""The rules of `distill`: make a skill from the failures and successes of a finished session."""
