"""How the page of a vault looks: HTML in one file, Markdown, charts, a server on this machine.

What it says is computed in `inspect/page/`.
"""
