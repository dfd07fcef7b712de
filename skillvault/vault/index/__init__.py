"""The index database: what HEAD's files and history say, in SQLite; the queries to it."""
