"""Texts that say the same or the opposite: two texts, or many."""
