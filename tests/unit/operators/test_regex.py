"""What Java finds, and what only Java can look for. The answers are Java's, the engine is not."""

import pytest

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.text import rlike


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        ("b", ["abc", "b"], ["", "B"]),
        ("^a.c$", ["abc", "a c", "abc\n", "abc\r\n", "abc\u2028"], ["a\nc", "a\rc", "a\u0085c", "abc\n\n", "xabc"]),
        (r"a\s$", ["a ", "a\x0b", "a\n"], ["a", "a\r\n", "a\u00a0"]),
        (r"^\W$", ["-", "é", "\r\n"[0]], ["a", "\r\n", "_"]),
        (r"\r$", ["a\r"], ["a\r\n", "a"]),
        (r"\n$", ["a\n", "a\r\n"], ["a\r"]),
        ("x|y$", ["xz", "zy"], ["yz"]),
        (r"[\w.-]+@[a-z]{2,3}", ["a.b-c@de"], ["@de", "a@d"]),
        (r"\d{2}", ["a12"], ["1a2", "١٢"]),
        ("(?i)k[a-c]", ["KB", "ka"], ["\u212aa", "kd"]),
        ("(ab)+?c", ["ababc"], ["ac"]),
        ("^.$", ["😀", "é"], ["e\u0301", ""]),
        ("", ["", "a"], []),
    ],
)
def test_java_s_answers(pattern: str, found: list[str], not_found: list[str]) -> None:
    assert [text for text in (*found, *not_found) if rlike(text, pattern)] == found


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a(?=b)",
            r"(a)\1",
            "a++",
            r"\bword",
            r"\p{L}",
            "(?m)^a",
            "[a&&b]",
            "[a[b]]",
            r"\Qa\E",
            "(?<n>a)",
            "a$b",
            "(a$)",
        ),
        *("(?i)[ -_]", r"[\d-z]", "a{1001}", "a{²}", "a{2,1}", "[z-a]", "(a{1000}){1000}"),
        *("(a", "[a", "a\\", "*a", "a{1,", "[]", ")"),
    ],
)
def test_what_a_worker_does_not_know_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="RLIKE: a worker does not know"):
        rlike("a", pattern)
