"""Errors that show the place: the user's text with carets under it, and what may have been meant."""

import difflib
import re
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


QUOTED = re.compile(
    r"""(?<!\w)[rR]'[^']*'|(?<!\w)[rR]"[^"]*"|`[^`]*`|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*\"""", re.DOTALL
)
"""Strings and quoted names, as Spark's SQL writes them."""


def closing_paren(text: str, start: int) -> int | None:
    """One past the parenthesis that closes the one at `start`, quoted text apart.

    >>> closing_paren("(a = ')') AND (b)", 0)
    9
    """
    depth = 0
    masked = QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    for i in range(start, len(masked)):
        depth += (masked[i] == "(") - (masked[i] == ")")
        if depth == 0 and masked[i] == ")":
            return i + 1
    return None


def strip_parens(sql: str) -> str:
    """Text without the parentheses that enclose all of it."""
    return sql[1:-1] if sql.startswith("(") and closing_paren(sql, 0) == len(sql) else sql


MISSING = "something is missing here"


def explain_parser(description: str | None) -> str:
    """Sqlglot's words for an error, without the names of its own classes."""
    if not description or description.startswith(("Required keyword", "No expression")):
        return MISSING
    return description.split(" but got <")[0]


def explain_keyword(before: str, word: str) -> str | None:
    """What to write where a column is named as a word of SQL.

    >>> explain_keyword("l.", "select")
    'select is a word of SQL; a column of that name is l.`select`'
    """
    side = re.search(r"\b([lr])\.$", before, re.IGNORECASE) if word.isidentifier() else None
    return f"{word} is a word of SQL; a column of that name is {side[1]}.`{word}`" if side else None


def suggest(name: str, known: Sequence[str]) -> str:
    """What of the known names may have been meant, if any is close."""
    bare = {column.split(".", 1)[-1].lower(): column for column in known}
    close = difflib.get_close_matches(name.lower(), bare, n=1)
    return f"; did you mean {bare[close[0]]}?" if close else ""


def suggest_or_list(name: str, known: Sequence[str]) -> str:
    """What may have been meant, and all that there is."""
    return f"{suggest(name, known) or ';'} there are {', '.join(known) or 'none'}"
