"""Files and git. No learning rule is here."""
