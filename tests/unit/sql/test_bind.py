"""Names are resolved as Spark resolves them; what cannot be a join condition is refused, and the place is shown."""

import pytest

from streamjoin.operators.types import DOUBLE, Type
from streamjoin.predicate import Schema, parse
from streamjoin.sql.bind import bind
from tests.conditions.messages import check_pointed, refusal
from tests.conditions.schemas import LEFT, RIGHT

TRADES = Schema(
    [
        ("id", "int"),
        ("price", "double"),
        ("the price", "double"),
        ("a.b", "int"),
        ("tick`s", "int"),
        ('"quoted"', "int"),
        ("größe", "int"),
        ("pos", Type("struct", fields=(("lat", DOUBLE), ("Lon", DOUBLE), ("lon", DOUBLE)))),
        ("Twice", "int"),
        ("twice", "int"),
    ]
)
QUOTES = Schema({"id": "int", "cost": "double", "l": "int", "desc": "string"})


# Names


@pytest.mark.parametrize(
    ("text", "written"),
    [
        # A side may be left out where only one has the name; case does not matter.
        ("price = cost", "l.price = r.cost"),
        ("L.PRICE = R.Cost", "l.price = r.cost"),
        ("Price = COST", "l.price = r.cost"),
        # Any name may stand in backticks.
        ("l.`the price` = r.`cost`", "l.`the price` = r.cost"),
        ("`the price` = cost", "l.`the price` = r.cost"),
        ("l.`a.b` = r.id", "l.`a.b` = r.id"),
        ("l.`tick``s` = r.id", "l.`tick``s` = r.id"),
        ('l.`"quoted"` = r.id', 'l.`"quoted"` = r.id'),
        ("l.`größe` = r.id", "l.`größe` = r.id"),
        # Fields of structs, with and without the side.
        ("l.pos.lat = r.cost", "l.pos.lat = r.cost"),
        ("pos.LAT = cost", "l.pos.lat = r.cost"),
        # A column may be named as a side is; words of SQL are names behind a dot.
        ("l.id = r.l", "l.id = r.l"),
        ("l.id = l", "l.id = r.l"),
        ("l.price = r.cost AND r.desc = 'x'", "l.price = r.cost AND r.desc = 'x'"),
        # Columns inside of what only Spark understands are resolved too.
        ("my_udf(PRICE, `the price`, cost)", "my_udf(l.price, l.`the price`, r.cost)"),
        ("l.price BETWEEN my_udf(cost) AND f(g(pos.lat))", "l.price >= my_udf(r.cost) AND l.price <= f(g(l.pos.lat))"),
        # Comments and line breaks are no part of it.
        ("price -- of the trade\n  = /* of the quote */ cost", "l.price = r.cost"),
        ("price = cost;", "l.price = r.cost"),
    ],
)
def test_a_name_is_resolved(text: str, written: str) -> None:
    assert str(bind(text, TRADES, QUOTES)) == written


@pytest.mark.parametrize(
    ("message", "text", "carets"),
    [
        (
            "unknown column r.cots; did you mean r.cost? there are r.id, r.cost, r.l, r.desc",
            "l.price = r.cots",
            "          ^^^^^^",
        ),
        (
            "unknown column r.zz; there are r.id, r.cost, r.l, r.desc",
            "my_udf(l.price, upper(r.zz))",
            "                      ^^^^",
        ),
        (
            "unknown column prise; did you mean l.price? there are l.id, l.price, l.the price, l.a.b, l.tick`s, "
            'l."quoted", l.größe, l.pos, l.Twice, l.twice, r.id, r.cost, r.l, r.desc',
            "prise = r.cost",
            "^^^^^",
        ),
        (
            "unknown column r.the cost; did you mean r.cost? there are r.id, r.cost, r.l, r.desc",
            "l.price = r.`the cost`",
            "          ^^^^^^^^^^^^",
        ),
        (
            "unknown column l.pos.height; there are l.pos.lat, l.pos.Lon, l.pos.lon",
            "l.pos.height = r.cost",
            "^^^^^^^^^^^^",
        ),
        (
            "l.price is double and has no fields",
            "my_udf(l.price.cents, r.cost)",
            "       ^^^^^^^^^^^^^",
        ),
        (
            "unknown side q: the left input is l, the right one is r",
            "q.price = r.cost",
            "^^^^^^^",
        ),
        (
            "unknown side trades: the left input is l, the right one is r",
            "trades.pos.lat = r.cost",
            "^^^^^^^^^^^^^^",
        ),
        (
            "ambiguous name id: both sides have it; write l.id or r.id",
            "r.l = id",
            "      ^^",
        ),
        (
            "ambiguous name twice: there are Twice, twice",
            "l.twice = r.id",
            "^^^^^^^",
        ),
        (
            "ambiguous name Twice: there are Twice, twice",
            "Twice = r.id",
            "^^^^^",
        ),
        (
            "ambiguous name LON: there are Lon, lon",
            "l.pos.LON = r.cost",
            "^^^^^^^^^",
        ),
    ],
)
def test_a_name_that_cannot_be_resolved(message: str, text: str, carets: str) -> None:
    check_pointed(message, text, carets, TRADES, QUOTES)


def test_a_side_may_have_no_columns() -> None:
    check_pointed("unknown column l.x; there are none", "l.x = r.id", "^^^", Schema({}), QUOTES)


# What is no join condition


@pytest.mark.parametrize(
    ("message", "text", "carets"),
    [
        (
            "the condition names only the left side; a join compares columns of l with columns of r",
            "l.x < l.y",
            "^^^^^^^^^",
        ),
        (
            "the condition names only the right side; a join compares columns of l with columns of r",
            "my_udf(r.a) AND r.b > 3",
            "^^^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "expected a condition, but this is int",
            "l.x + r.a",
            "^^^^^^^^^",
        ),
        (
            "expected a condition, but this is string",
            "'l.x = r.a'",
            "^^^^^^^^^^^",
        ),
        (
            "expected a condition such as l.x <= r.a, not a statement",
            "SELECT * FROM t",
            "^^^^^^^^^^^^^^^",
        ),
        (
            "expected a condition such as l.x <= r.a, not a statement",
            "DROP TABLE t",
            "^^^^^^^^^^^^",
        ),
        (
            "expected a condition such as l.x <= r.a, not a statement",
            "l.x = r.a; l.y = r.b",
            "^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "expected a condition such as l.x <= r.a, not a statement",
            "l.x = r.a AS same",
            "^^^^^^^^^^^^^^^^^",
        ),
        (
            "this has no meaning in a join condition",
            "(l.x same) = r.a",
            " ^^^^^^^^",
        ),
        (
            "this has no meaning in a join condition",
            "l.x BETWEEN SYMMETRIC r.a AND 5",
            "^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "a join condition compares single columns",
            "l.* = r.a",
            "^^^",
        ),
        (
            "write parentheses: this is read in more than one way",
            "l.name = r.name LIKE 'a'",
            "^^^^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "write parentheses: this is read in more than one way",
            "l.ok AND l.x IN (1) = r.fine",
            "         ^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "300Y does not fit into tinyint",
            "l.x = 300Y + r.a",
            "      ^^^^",
        ),
        (
            "INTERVAL: cannot read 'abc MINUTES' as a duration; expected text such as \"15 minutes\", "
            '"1 day 2 hours", "5s" or "250ms", or a datetime.timedelta',
            "l.ts > r.ts - INTERVAL 'abc' MINUTES",
            "                       ^^^^^",
        ),
    ],
)
def test_what_is_no_condition_on_two_rows(message: str, text: str, carets: str) -> None:
    check_pointed(message, text, carets)


@pytest.mark.parametrize(
    ("name", "text", "carets"),
    [
        ("sum", "sum(l.x) = r.a", "^^^^^^^^"),
        ("max", "l.x = r.a AND l.x > max(r.b)", "                    ^^^^^^^^"),
        ("count", "COUNT(*) > l.x + r.a", "^^^^^^^^"),
        ("count", "count(DISTINCT l.x) > r.a", "^^^^^^^^^^^^^^^^^^^"),
        ("min", "my_udf(upper(min(l.x))) = r.a", "             ^^^^^^^^"),
        ("avg", "CASE WHEN avg(l.x) > 1 THEN r.fine END", "          ^^^^^^^^"),
        ("stddev", "abs(stddev(l.x)) = r.a", "    ^^^^^^^^^^^"),
        ("array_agg", "l.tags = array_agg(r.a)", "         ^^^^^^^^^^^^^^"),
        ("max", "max(l.x) FILTER (WHERE true) > r.a", "^^^^^^^^"),
    ],
)
def test_aggregates_are_refused(name: str, text: str, carets: str) -> None:
    check_pointed(f"the aggregate {name} cannot be part of a join condition", text, carets)


@pytest.mark.parametrize(
    ("text", "carets"),
    [
        ("r.a = row_number() OVER ()", "      ^^^^^^^^^^^^"),
        ("l.x = r.a AND lag(l.x) OVER (PARTITION BY l.y) > 3", "              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"),
        ("my_udf(sum(l.x) OVER ()) = r.a", "       ^^^^^^^^"),
    ],
)
def test_window_functions_are_refused(text: str, carets: str) -> None:
    check_pointed("a window function cannot be part of a join condition", text, carets)


@pytest.mark.parametrize(
    ("text", "carets"),
    [
        ("l.x = (SELECT max(a) FROM t)", "       ^^^^^^^^^^^^^^^^^^^^"),
        ("(SELECT 1) < r.a", " ^^^^^^^^"),
        ("l.x IN (SELECT a FROM t)", "        ^^^^^^^^^^^^^^^"),
        ("l.x NOT IN (SELECT a FROM t) AND r.a = 1", "            ^^^^^^^^^^^^^^^"),
        ("l.x = r.a AND EXISTS (SELECT 1 FROM t)", "                      ^^^^^^^^^^^^^^^"),
        ("NOT EXISTS (SELECT 1)", "            ^^^^^^^^"),
        ("l.x = ALL (SELECT a FROM t)", "           ^^^^^^^^^^^^^^^"),
        ("if(l.x > (SELECT 1), true, r.fine)", "          ^^^^^^^^"),
        ("CASE WHEN l.ok THEN r.a ELSE (SELECT 1) END = 2", "                              ^^^^^^^^"),
        ("abs((select 1)) = l.x + r.a", "     ^^^^^^^^"),
        ("my_udf((SELECT 1), l.x, r.a)", "        ^^^^^^^^"),
        ("l.x BETWEEN r.a AND (SELECT 1)", "                     ^^^^^^^^"),
    ],
)
def test_sub_queries_are_refused(text: str, carets: str) -> None:
    check_pointed("a sub-query cannot be part of a join condition", text, carets)


@pytest.mark.parametrize(
    ("name", "text", "carets"),
    [
        ("rand", "l.x = r.a AND rand() < 0.5", "              ^^^^^^"),
        ("random", "abs(random(3) - l.v) < r.w", "    ^^^^^^^^^"),
        ("randn", "RANDN() < l.v + r.w", "^^^^^^^"),
        ("uuid", "l.x = r.a AND upper(uuid()) = l.name", "                    ^^^^^^"),
        ("now", "l.x = r.a AND now() > l.ts", "              ^^^^^"),
        ("current_timestamp", "current_timestamp() > l.ts AND r.fine", "^^^^^^^^^^^^^^^^^^^"),
        ("current_date", "l.x = r.a AND date_add(current_date(), 3) > l.d", "                       ^^^^^^^^^^^^^^"),
        ("localtimestamp", "localtimestamp() > l.ts AND r.fine", "^^^^^^^^^^^^^^^^"),
        ("monotonically_increasing_id", "l.x + r.a = monotonically_increasing_id()", " " * 12 + "^" * 29),
        ("shuffle", "l.tags = shuffle(r.tags)", "         ^^^^^^^^^^^^^^^"),
        ("spark_partition_id", "l.x + r.a = spark_partition_id()", " " * 12 + "^" * 20),
        ("input_file_name", "l.name = input_file_name() OR r.fine", "         ^^^^^^^^^^^^^^^^^"),
    ],
)
def test_functions_that_give_another_value_at_every_try_are_refused(name: str, text: str, carets: str) -> None:
    check_pointed(
        f"{name} gives another value at every try, so the join would have no repeatable result; "
        "compute it as a column before the join",
        text,
        carets,
    )


@pytest.mark.parametrize("text", ["current_date > l.d AND r.fine", "l.d < date_add(current_date, 3) AND r.fine"])
def test_also_without_parentheses(text: str) -> None:
    assert refusal(text).startswith("on: current_date gives another value at every try")


# What cannot be parsed


@pytest.mark.parametrize(
    ("message", "text", "carets"),
    [
        ("something is missing here", "l.x =", "    ^"),
        ("something is missing here", "l.x = r.a AND", "          ^^^"),
        ("something is missing here", "l.x == = r.a", "       ^"),
        ("something is missing here", "l.name LIKE", "       ^^^^"),
        ("something is missing here", "l.x BETWEEN 1 OR r.a", "              ^^"),
        ("something is missing here", "l. = r.a", "   ^"),
        ("write AND", "l.x = r.a && l.y < r.b", "          ^^"),
        ("Expecting )", "(l.x = r.a", "         ^"),
        ("Invalid expression / Unexpected token", "l.x = r.a)", "         ^"),
        ("Invalid expression / Unexpected token", "l.x = r.a WHERE true", "          ^^^^^"),
        ("Invalid expression / Unexpected token", "l.x = 5 5", "        ^"),
        ("Expected END after CASE", "CASE WHEN l.x = r.a THEN 1", "                         ^"),
        ("Expected TYPE after CAST", "CAST(l.x AS nonsense) = r.a", "            ^^^^^^^^"),
        ("Expected AS after CAST", "CAST(l.x) = r.a", "        ^"),
    ],
)
def test_what_cannot_be_parsed(message: str, text: str, carets: str) -> None:
    check_pointed(f"cannot parse the condition: {message}", text, carets)


@pytest.mark.parametrize("text", ["l.name = 'abc", 'l.name = "abc', "l.x = `abc", "l.x = r.a /* and"])
def test_what_is_never_closed(text: str) -> None:
    assert refusal(text).startswith("on: cannot parse the condition: ")


# Several lines


def test_the_line_of_the_error_is_shown() -> None:
    assert refusal("l.x = r.a\n  AND l.prise = r.w\n  AND l.ok", Schema({"x": "int", "price": "double"}), RIGHT) == (
        "on: unknown column l.prise; did you mean l.price? there are l.x, l.price\n"
        "    AND l.prise = r.w\n"
        "        ^^^^^^^"
    )
    assert refusal("l.x = r.a\n  AND (l.y = ") == (
        "on: cannot parse the condition: something is missing here\n    AND (l.y = \n             ^"
    )


def test_an_error_over_several_lines_is_shown_at_its_first() -> None:
    assert refusal("l.ok AND abs(l.x\n  - r.ts) < 3") == (
        "on: - is not defined for int and timestamp\n  l.ok AND abs(l.x\n               ^^^"
    )


# What is carried as text


def test_the_type_of_text_is_asked_of_spark() -> None:
    asked: list[str] = []

    def typeof(sql: str) -> Type | None:
        asked.append(sql)
        return DOUBLE if sql.startswith("my_udf") else None

    condition = parse("my_udf(l.x, 'it\\'s') <= r.w AND other(l.x) = r.a", LEFT, RIGHT, typeof).condition
    assert asked == ["my_udf(l.x, 'it\\'s')", "other(l.x)"]
    assert [str(node.type) for node in condition.walk() if str(node).endswith("s')")] == ["double"]


def test_spans_point_into_the_text() -> None:
    text = "l.x  + 1 < abs( r.a )"
    condition = bind(text, LEFT, RIGHT)
    spans = {str(node): text[slice(*node.span)] for node in condition.walk()}
    assert spans == {
        "l.x + 1 < abs(r.a)": text,
        "l.x + 1": "l.x  + 1",
        "l.x": "l.x",
        "1": "1",
        "abs(r.a)": "abs( r.a )",
        "r.a": "r.a",
    }


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_condition_is_refused(text: str) -> None:
    assert refusal(text) == "on: the condition is empty; expected one such as l.x <= r.a"


def test_a_condition_that_is_nested_too_deeply_is_refused() -> None:
    assert refusal(" AND ".join(["l.x = r.a"] * 1000)) == (
        "on: the condition is nested too deeply; compute parts of it as columns"
    )


def test_a_column_named_as_a_word_of_sql_is_written_in_backticks() -> None:
    schema = Schema({"select": "int", "x": "int"})
    message = "cannot parse the condition: select is a word of SQL; a column of that name is l.`select`"
    check_pointed(message, "l.x = 1 AND l.select = r.x", "              ^^^^^^", schema, schema)
    parse("l.x = 1 AND l.`select` = r.x", schema, schema)
