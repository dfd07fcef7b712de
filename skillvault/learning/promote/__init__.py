"""promote: an insight becomes a fact, facts become a pattern skill."""
