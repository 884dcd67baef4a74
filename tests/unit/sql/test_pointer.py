import pytest

from streamjoin.sql.pointer import closing_paren, explain_parser, point_at, suggest_or_list


@pytest.mark.parametrize(
    ("text", "span", "shown"),
    [
        ("a = b", (4, 5), "\n  a = b\n      ^"),
        ("a = b", (0, 5), "\n  a = b\n  ^^^^^"),
        ("a = b", (2, 2), "\n  a = b\n    ^"),
        ("a\nAND b\nAND c", (6, 7), "\n  AND b\n      ^"),
        ("a\nAND b\nAND c", (8, 13), "\n  AND c\n  ^^^^^"),
        ("a =\n  b", (0, 7), "\n  a =\n  ^^^"),
        ("", (0, 0), "\n  \n  ^"),
    ],
)
def test_carets_stand_under_the_place_in_its_line(text: str, span: tuple[int, int], shown: str) -> None:
    assert point_at(text, span) == shown


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("f(a)", 1, 4),
        ("f (a, g(b)) + (c)", 1, 11),
        ("f(')')", 1, 6),
        ('f(`)`, "(")', 1, 11),
        ("f(a", 1, None),
        ("f", 1, None),
    ],
)
def test_a_parenthesis_is_closed_outside_of_quotes(text: str, start: int, end: int | None) -> None:
    assert closing_paren(text, start) == end


@pytest.mark.parametrize(
    ("description", "words"),
    [
        (None, "something is missing here"),
        ("", "something is missing here"),
        ("Required keyword: 'this' missing for <class 'sqlglot.expressions.core.EQ'>", "something is missing here"),
        ("No expression was parsed from ''", "something is missing here"),
        ("Expected TYPE after CAST but got <Token ...>", "Expected TYPE after CAST"),
        ("Expecting )", "Expecting )"),
    ],
)
def test_the_parser_is_quoted_without_its_class_names(description: str | None, words: str) -> None:
    assert explain_parser(description) == words


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("prise", ["l.price", "l.x"], "; did you mean l.price? there are l.price, l.x"),
        ("PRICES", ["l.Price"], "; did you mean l.Price? there are l.Price"),
        ("zz", ["l.price", "l.x"], "; there are l.price, l.x"),
        ("x", [], "; there are none"),
    ],
)
def test_a_close_name_is_suggested(name: str, known: list[str], words: str) -> None:
    assert suggest_or_list(name, known) == words
