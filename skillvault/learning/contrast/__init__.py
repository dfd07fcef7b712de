"""Rules and leads: conditions that separate the failures of an action from its successes."""
