"""account: what is known of a subject, computed from its records whenever it is asked."""
