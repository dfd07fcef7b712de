"""Evidence for rules: which files of the code bases hold which terms. Code is read, never run."""
