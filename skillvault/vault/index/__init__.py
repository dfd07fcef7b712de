"""The index of the branch's files and history in a SQLite database, and queries to it."""
