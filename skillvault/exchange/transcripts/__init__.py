"""Transcripts that agents' clients write, read as events; no vault, no clock, nothing is written.

A reader is lenient: formats move, so a line that it does not understand is counted and named.
"""
