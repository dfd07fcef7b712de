"""The page of a vault as HTML, Markdown and charts, with a local server.

Its content is computed in `inspect/page/`.
"""
