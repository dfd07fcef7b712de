"""Agents' clients: payloads of hooks, notes of sessions, edits of a client's settings.

It knows a vault's folder and a client's own files, and nothing else of a vault.
"""
