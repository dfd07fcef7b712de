"""Render the page of a vault as HTML, Markdown and charts, and serve it on this machine.

`inspect/page.py` computes the content.
"""
