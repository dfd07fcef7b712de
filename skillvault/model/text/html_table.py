"""Write a table as HTML, for values in notebooks, or as Markdown."""

from collections.abc import Iterable, Sequence
from html import escape

from skillvault.model.text.hidden_characters import escape_hidden


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a `<table>` with a caption, with HTML and hidden characters escaped."""
    body = [_html_row("td", row) for row in rows]
    head = [_html_row("th", columns)] if columns else []
    return "\n".join(
        ["<table>", f"<caption>{_html_cell(title)}</caption>", *head, *body, "</table>"]
    )


def _html_row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_html_cell(cell)}</{tag}>' for cell in cells)}</tr>"


def _html_cell(value: object) -> str:
    return escape(escape_hidden("" if value is None else str(value)))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table. Each cell is one line without bars."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_markdown_cell, line))} |" for line in lines)


def _markdown_cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return escape_hidden(text.replace("|", "\\|"))
