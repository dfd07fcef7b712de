"""How the page of a vault looks: HTML in one file, Markdown, charts, a server on this machine.

Floor 4, a door: what it says is computed in `steps/page/`.
"""
