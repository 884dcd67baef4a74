"""A condition as it was written: parsed by sqlglot, with every node's place in the text."""

import re
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.errors import ParseError, TokenError

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import NO_SPAN, Span
from streamjoin.sql.pointer import MISSING, QUOTED, closing_paren, explain_keyword, explain_parser, point_at


class Dialect(Spark):  # type: ignore[misc]
    """Spark's grammar with every function call left as it was written."""

    class Parser(Spark.Parser):  # type: ignore[misc]
        """Knows those functions alone that have a syntax of their own."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser
            for name, parser in Spark.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM")
        }


def _with_backslashes(text: str) -> str:
    r"""The text with quotes inside of strings escaped by a backslash where they are doubled: of the same length.

    >>> print(_with_backslashes("l.s = 'it''s' AND l.t = ''"))
    l.s = 'it\'s' AND l.t = ''
    """

    def escape(found: re.Match[str]) -> str:
        quoted = found[0]
        quote = quoted[0]
        if quote not in "'\"":
            return quoted
        inside = re.sub(rf"(\\.)|{quote}{quote}", lambda pair: pair[1] or f"\\{quote}", quoted[1:-1], flags=re.DOTALL)
        return f"{quote}{inside}{quote}"

    return QUOTED.sub(escape, text)


class Written:
    """The text of a condition."""

    def __init__(self, text: str) -> None:
        self.text = text

    def parse(self) -> exp.Expr:
        """The text as a tree."""
        try:
            tree = sqlglot.parse_one(_with_backslashes(self.text), dialect=Dialect)
        except ParseError as error:
            place = error.errors[0] if error.errors else {}
            at = self._offset(place.get("line"), place.get("col"), len(place.get("highlight") or ""))
            reason = explain_parser(place.get("description"))
            if self.text[slice(*at)] == "&&":
                reason = "write AND"
            elif reason == MISSING:
                reason = explain_keyword(self.text[: at[0]], self.text[slice(*at)]) or reason
            raise self.error(f"cannot parse the condition: {reason}", at) from None
        except TokenError as error:
            start = max(self.text.rfind(quote) for quote in "'\"`")
            reason = "a quote is not closed" if start >= 0 else str(error)
            at = (max(start, 0), max(start, 0) + 1)
            raise self.error(f"cannot parse the condition: {reason}", at) from None
        if not isinstance(tree, exp.Condition) or isinstance(tree, exp.Query):
            raise self.error("expected a condition such as l.x <= r.a, not a statement", (0, len(self.text)))
        return tree

    def error(self, message: str, span: Span) -> StreamJoinError:
        """An error that shows the text with a caret under the place."""
        return StreamJoinError(f"on: {message}{point_at(self.text, span)}")

    def span(self, node: exp.Expr) -> Span:
        """From the first to the last character of a node, as far as its names, constants and calls tell."""
        spans = [self._own_span(part) for part in node.walk() if "start" in part.meta]
        if not spans:
            return 0, len(self.text)
        return min(start for start, _ in spans), max(end for _, end in spans)

    def _own_span(self, node: exp.Expr) -> Span:
        start, end = node.meta["start"], node.meta["end"] + 1
        if isinstance(node, exp.Anonymous) and (closing := closing_paren(self.text, end)):
            end = closing
        return start, end

    def _offset(self, line: int | None, column: int | None, length: int) -> Span:
        """Where sqlglot's line and column (that of the token's last character) stand in the text."""
        if line is None or column is None:
            return NO_SPAN
        end = sum(len(row) + 1 for row in self.text.split("\n")[: line - 1]) + column
        return max(end - max(length, 1), 0), end
