"""Rules and leads: conditions that separate a group of outcomes from the others."""
