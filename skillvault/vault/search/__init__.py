"""The search for texts that match a query."""
