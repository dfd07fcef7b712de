"""Which texts answer a query."""
