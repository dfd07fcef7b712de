"""What agents get: recommendations, search, skills of every layer, exports."""
