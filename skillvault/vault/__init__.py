"""Files and git. No learning rule stands here."""
