"""promote: insights become facts, and facts become pattern skills."""
