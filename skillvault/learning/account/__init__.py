"""account: the statements about the outcomes of an action or a subject, for skills to hold."""
