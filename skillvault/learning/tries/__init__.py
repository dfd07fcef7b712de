"""Tries: one line for each outcome, and groups of tries with the same deed. Values in and out."""
