"""Agents' sessions: hooks, transcripts, decisions and the set-up of clients."""
