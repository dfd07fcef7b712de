"""generate: significant outcomes become skills, a domain gets a strategy."""
