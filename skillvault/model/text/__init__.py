"""Markdown, YAML, JSON and Unicode, as text."""
