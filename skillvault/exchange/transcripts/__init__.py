"""Read the transcripts of agents' clients as events. No vault, no clock; nothing is written.

Readers are lenient because formats change: a line that they do not understand is counted.
"""
