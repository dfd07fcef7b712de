"""Recommendations, search, skills of every layer and exports: all that agents get."""
