"""Rules: pure functions from records to changes or values."""
