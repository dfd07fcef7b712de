"""Agents' clients: payloads of hooks, notes of sessions, edits of a client's settings.

This package knows the folder of a vault and the files of clients, nothing else of a vault.
"""
