"""Read and write other programs' files: outcomes, transcripts, skills.

No git, no vault, no clock: the ordinary intake validates all records that are read here.
"""
