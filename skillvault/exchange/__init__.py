"""Other programs' files, read and written: outcomes, transcripts, skills.

No git, no vault, no clock: what is read here is judged by the ordinary intake like any other.
"""
