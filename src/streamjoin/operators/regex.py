"""Java's regular expressions, as far as other engines agree on what they find.

Spark's RLIKE asks Java. A pattern that keeps to what all engines share is rewritten so that RE2 and Python find exactly
what Java finds; any other is refused by name rather than read in another way.
"""

from collections.abc import Iterator

from streamjoin.operators.arithmetic import EvaluationError

_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_SPACES = r" \t\n\x0b\f\r"
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACES}
_CHARACTERS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f", "a": r"\x07", "e": r"\x1b"}
_AT_END = {True: r"(?:\r\n)?\z", False: rf"[{_LINE_ENDS}]?\z"}
"""What $ stands for in a text that ends in CR LF, between which Java does not look for it, and in any other."""
_SPECIAL = frozenset(r"\.[]{}()*+?^$|")


def to_re2(pattern: str, *, after_crlf: bool = False) -> str:
    r"""The pattern for RE2: it finds something in exactly the strings in which Java does.

    `after_crlf` says whether that is true of strings that end in CR LF, or of all others.

    >>> print(to_re2(r"a.c\d+$"))
    a[^\n\r\x{85}\x{2028}\x{2029}]c[0-9]+[\n\r\x{85}\x{2028}\x{2029}]?\z
    """
    return "".join(_Reader(pattern, after_crlf).alternatives())


def pattern_error(pattern: str, why: str) -> EvaluationError:
    """The error for a pattern that other engines than Java's read in another way, or not at all."""
    return EvaluationError(
        f"RLIKE: a worker does not know {why} in the pattern {pattern!r}; compute a column before the join, if it is a "
        "regular expression at all"
    )


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, after_crlf: bool) -> None:
        self.pattern, self.depth, self.at_end = pattern, 0, _AT_END[after_crlf]
        self.ignores_case = pattern.startswith("(?i)")  # of ASCII letters, in Java
        self.at = 4 if self.ignores_case else 0

    def error(self, why: str) -> EvaluationError:
        return pattern_error(self.pattern, why)

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        if self.at == len(self.pattern):
            raise self.error("its end")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> Iterator[str]:
        """All up to the end, or to the parenthesis that closes this group."""
        while (c := self.peek()) and not (c == ")" and self.depth):
            if c == "|":
                yield self.take()
            else:
                atom = self.atom()
                yield atom
                if atom not in ("^", self.at_end):
                    yield self.quantifier()

    def atom(self) -> str:
        match self.take():
            case "^":
                return "^"
            case "$":
                if self.peek() not in ("", "|", ")"):
                    raise self.error("a $ that is not at an end")
                if self.depth:
                    raise self.error("a $ inside a group")
                return self.at_end
            case ".":
                return f"[^{_LINE_ENDS}]"
            case "[":
                return self.bracket()
            case "(":
                return self.group()
            case "\\" if self.peek() and self.peek() in "DWS":
                return f"[^{_CLASSES[self.take().lower()]}]"
            case "\\":
                escaped = self.escape()
                return f"[{escaped}]" if "-" in escaped or escaped == _SPACES else escaped
            case "*" | "+" | "?" | "{" | "}" | ")" | "]" as c:
                raise self.error(f"{c!r} by itself")
            case c:
                return f"[{c}{c.swapcase()}]" if self.ignores_case and _is_letter(c) else c

    def quantifier(self) -> str:
        c = self.peek()
        if not c or c not in "*+?{":
            return ""
        read = self.take()
        if c == "{":
            while not read.endswith("}"):
                read += self.take()
            low, comma, high = read[1:-1].partition(",")
            written = read.isascii() and low.isdigit() and (high.isdigit() or not high)
            if not written or max(int(low), int(high or 0)) > 1000:
                raise self.error(f"the repetition {read}")
            if comma and high and int(high) < int(low):
                raise self.error(f"the repetition {read}")
        if self.peek() == "?":
            return read + self.take()
        if self.peek() and self.peek() in "+*{":
            raise self.error(f"{read}{self.peek()}")
        return read

    def group(self) -> str:
        if self.peek() == "?":
            self.take()
            if self.take() != ":":
                raise self.error("a group that begins with (?")
        self.depth += 1
        inside = "".join(self.alternatives())
        self.depth -= 1
        if self.peek() != ")":
            raise self.error("a group without its end")
        self.take()
        return f"(?:{inside})"

    def bracket(self) -> str:
        read = "["
        if self.peek() == "^":
            read += self.take()
        while (c := self.take()) != "]":
            if c in "[&^" or (c == "-" and self.peek() != "]"):
                raise self.error(f"{c!r} inside of brackets")
            first = self.escape() if c == "\\" else "\\-" if c == "-" else c
            last = self.range_end(first)
            read += f"{first}-{last}" if last else first
            if self.ignores_case and last:
                if not (_is_letter(first) and _is_letter(last) and first.isupper() == last.isupper()):
                    raise self.error(f"the range {first}-{last} without regard to case")
                read += f"{first.swapcase()}-{last.swapcase()}"
            elif self.ignores_case and _is_letter(first):
                read += first.swapcase()
        if read in ("[", "[^"):
            raise self.error("empty brackets")
        return f"{read}]"

    def range_end(self, first: str) -> str:
        """The last character of a range, if one begins here."""
        if self.peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
            return ""
        self.take()
        last = self.take()
        if first in _CLASSES.values() or last in "[\\&^":
            raise self.error("a range of more than plain characters")
        return last

    def escape(self) -> str:
        """What a backslash makes of the next character: one character, or the inside of a class."""
        c = self.take()
        if c in _CLASSES or c in _CHARACTERS:
            return _CLASSES.get(c) or _CHARACTERS[c]
        if c in _SPECIAL or (c.isascii() and not c.isalnum()):
            return f"\\{c}"
        raise self.error(f"\\{c}")


def _is_letter(c: str) -> bool:
    return len(c) == 1 and c.isascii() and c.isalpha()
