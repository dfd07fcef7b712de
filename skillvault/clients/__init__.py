"""Agents' clients: what they tell a hook, what is noted of a session, how they are set up.

An edge: it knows no vault but the folder that it is given, and a client's own files.
"""
