"""What separates a group of outcomes from the others."""
