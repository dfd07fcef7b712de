"""The search for texts that answer a query."""
