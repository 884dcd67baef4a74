"""Errors that show the place: the user's text with carets under it, and what may have been meant."""

import difflib
from collections.abc import Sequence

from streamjoin.operators.expr import Span


def point_at(text: str, span: Span) -> str:
    """The line of `text` that holds `span`, with carets under it.

    >>> print(point_at("a = b", (4, 5)))
    <BLANKLINE>
      a = b
          ^
    """
    start, end = span
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)]
    width = max(1, min(end, first + len(line)) - start)
    return f"\n  {line}\n  {' ' * (start - first)}{'^' * width}"


def closing_paren(text: str, start: int) -> int | None:
    """One past the parenthesis that closes the one at `start`, quoted text apart."""
    depth, quote = 0, ""
    for i in range(start, len(text)):
        char = text[i]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return i + 1
    return None


MISSING = "something is missing here"


def explain_parser(description: str | None) -> str:
    """Sqlglot's words for an error, without the names of its own classes."""
    if not description or description.startswith(("Required keyword", "No expression")):
        return MISSING
    return description.split(" but got <")[0]


def suggest(name: str, known: Sequence[str]) -> str:
    """What of the known names may have been meant, if any is close."""
    bare = {column.split(".", 1)[-1].lower(): column for column in known}
    close = difflib.get_close_matches(name.lower(), bare, n=1)
    return f"; did you mean {bare[close[0]]}?" if close else ""


def suggest_or_list(name: str, known: Sequence[str]) -> str:
    """What may have been meant, and all that there is."""
    return f"{suggest(name, known) or ';'} there are {', '.join(known) or 'none'}"
