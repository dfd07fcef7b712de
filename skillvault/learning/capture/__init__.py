"""capture: a rule that agents wrote down and that code bears out becomes a pattern."""
