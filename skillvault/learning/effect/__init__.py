"""Which skills a decision applied, what that changed, and what follows for the skill."""
