"""merge: skills that say the same become one."""
