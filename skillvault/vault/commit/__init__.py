"""How changes become commits beside a person who works in the same repository."""
