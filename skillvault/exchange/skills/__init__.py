"""Formats of skills, one module each, to read and to write.

Pure: files are bytes by their path; no folder is opened and nothing is fetched.
"""
