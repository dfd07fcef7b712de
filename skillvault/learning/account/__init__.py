"""account: the statements about the outcomes of an action or a subject, which make up skills."""
