"""propose: a rule that a person states in their next words becomes a proposed rule."""
