"""Formats of skills, one module each, both ways.

Pure: files in and out as bytes by their path, no folder is opened and nothing is fetched.
"""
