"""promote: facts come from insights, and pattern skills from facts."""
