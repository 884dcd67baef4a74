"""Headings with their texts as a table of HTML, for notebooks."""

import html
from collections.abc import Iterable


def to_html(lines: Iterable[tuple[str, str]], *, wide: bool = False) -> str:
    """A table of two columns; with `wide`, texts keep their lines and spaces.

    >>> "<td style='text-align:left'>1 &lt; 2</td>" in to_html([("Rows", "1 < 2")])
    True
    """
    rows = "".join(
        f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(heading)}</th>"
        f"<td style='text-align:left'>{_write(text, wide)}</td></tr>"
        for heading, text in lines
    )
    return f"<table>{rows}</table>"


def _write(text: str, wide: bool) -> str:
    escaped = html.escape(text)
    return f"<pre style='margin:0'>{escaped}</pre>" if wide else escaped
