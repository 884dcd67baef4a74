import pytest
from hypothesis import given, settings

from streamjoin.operators.expr import Call, Cast, Column, Key, Literal, Opaque, quote_name, to_sql
from streamjoin.operators.types import BOOLEAN, DOUBLE, INT, UNKNOWN
from streamjoin.sql.bind import bind
from tests.conditions.schemas import LEFT, RIGHT
from tests.conditions.strategies import conditions

X, A = Column(INT, "l", ("x",)), Column(INT, "r", ("a",))


@settings(max_examples=150)
@given(conditions(2))
def test_what_is_written_is_read_back_as_the_same_expression(text: str) -> None:
    expr = bind(text, LEFT, RIGHT)
    assert repr(bind(str(expr), LEFT, RIGHT)) == repr(expr)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        # Parentheses stand only where the tree needs them.
        ("((l.x + 1) * 2) < (r.a)", "(l.x + 1) * 2 < r.a"),
        ("(l.x * 2) + 1 < r.a", "l.x * 2 + 1 < r.a"),
        ("l.x - (r.a - 1) < 2", "l.x - (r.a - 1) < 2"),
        ("(l.x - r.a) - 1 < 2", "l.x - r.a - 1 < 2"),
        ("l.x + (r.a + 1) < 2", "l.x + (r.a + 1) < 2"),
        ("l.x / (r.a * 2) % 3 > 1", "l.x / (r.a * 2) % 3 > 1"),
        ("l.x div (r.a div 2) > 1", "l.x div (r.a div 2) > 1"),
        ("-(l.x + r.a) < 0", "-(l.x + r.a) < 0"),
        ("-(-l.x) < r.a", "-(-l.x) < r.a"),
        ("l.x - -5 < r.a", "l.x - -5 < r.a"),
        ("-(-5) * l.x < r.a", "-(-5) * l.x < r.a"),
        ("(l.x < r.a) = (l.y < r.b)", "(l.x < r.a) = (l.y < r.b)"),
        ("(l.ok OR r.fine) AND l.x = r.a", "(l.ok OR r.fine) AND l.x = r.a"),
        ("l.ok OR (r.fine AND l.x = r.a)", "l.ok OR r.fine AND l.x = r.a"),
        ("NOT (l.ok AND r.fine)", "NOT (l.ok AND r.fine)"),
        ("NOT (l.x = r.a)", "NOT l.x = r.a"),
        ("NOT (NOT l.ok) OR r.fine", "NOT (NOT l.ok) OR r.fine"),
        ("(NOT l.ok) = r.fine", "(NOT l.ok) = r.fine"),
        ("(l.x = r.a) IS TRUE", "(l.x = r.a) IS TRUE"),
        ("(l.x + r.a) IS NOT NULL", "(l.x + r.a) IS NOT NULL"),
        ("(NOT l.ok) IS NULL OR r.fine", "(NOT l.ok) IS NULL OR r.fine"),
        ("(l.x + 1) IN (r.a + 1, 2)", "l.x + 1 IN (r.a + 1, 2)"),
        ("(l.x = r.a) IN (l.ok, r.fine)", "(l.x = r.a) IN (l.ok, r.fine)"),
        ("NOT l.x IN (r.a)", "l.x NOT IN (r.a)"),
        # Other ways to write the same are written one way.
        ("l.x != r.a", "l.x <> r.a"),
        ("l.x == r.a", "l.x = r.a"),
        ("! l.ok OR r.fine", "NOT l.ok OR r.fine"),
        ("l.x BETWEEN r.a AND 5", "l.x >= r.a AND l.x <= 5"),
        ("l.x NOT BETWEEN r.a AND 5", "NOT (l.x >= r.a AND l.x <= 5)"),
        ("mod(l.x, r.a) = 1", "l.x % r.a = 1"),
        ("POWER(l.v, r.w) > ceiling(2.5)", "pow(l.v, r.w) > ceil(2.5)"),
        ("nvl(l.x, r.a) > 1", "coalesce(l.x, r.a) > 1"),
        ("if(l.ok, l.x, r.a) > 1", "CASE WHEN l.ok THEN l.x ELSE r.a END > 1"),
        ("CASE l.x WHEN 1 THEN r.a END = 2", "CASE WHEN l.x = 1 THEN r.a ELSE NULL END = 2"),
        ("isnotnull(l.x) AND isnull(r.a)", "l.x IS NOT NULL AND r.a IS NULL"),
        ("date_add(l.d, 3) < date_sub(r.d, 3)", "l.d + 3 < r.d - 3"),
        ("l.x::double < r.a", "CAST(l.x AS DOUBLE) < r.a"),
        ("cast(l.x as decimal(10, 2)) < r.a", "CAST(l.x AS DECIMAL(10,2)) < r.a"),
        # Casts that Spark inserts by itself are not written; what Spark alone knows stays as it was.
        ("l.x < r.w", "l.x < r.w"),
        ("UPPER(l.name) LIKE Concat(r.name, '%')", "(UPPER(l.name) LIKE Concat(r.name, '%'))"),
        ("try_cast(l.name AS int) = r.a", "TRY_CAST(l.name AS INT) = r.a"),
        ("exists(l.tags, t -> t = r.a)", "exists(l.tags, t -> t = r.a)"),
    ],
)
def test_how_expressions_are_written(text: str, written: str) -> None:
    assert str(bind(text, LEFT, RIGHT)) == written


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("x", "x"),
        ("_x1", "_x1"),
        ("the x", "`the x`"),
        ("a.b", "`a.b`"),
        ("1x", "`1x`"),
        ("tick`s", "`tick``s`"),
        ('"quoted"', '`"quoted"`'),
        ("größe", "`größe`"),
        ("x\n", "`x\n`"),
        ("", "``"),
    ],
)
def test_names_are_quoted_unless_they_are_plain_words(name: str, written: str) -> None:
    assert quote_name(name) == written


def test_columns_are_named_as_the_writer_says() -> None:
    opaque = Opaque(UNKNOWN, ("f(", X, ", ", A, ")"))
    both = Call(BOOLEAN, "AND", (Call(BOOLEAN, "=", (Cast(DOUBLE, X, implicit=True), Cast(DOUBLE, A))), opaque))
    assert to_sql(both) == "l.x = CAST(r.a AS DOUBLE) AND f(l.x, r.a)"
    assert to_sql(both, lambda column: f"{column.side}_{column.path[0]}") == (
        "l_x = CAST(r_a AS DOUBLE) AND f(l_x, r_a)"
    )


def test_where_an_expression_stands_is_no_part_of_its_value() -> None:
    first, second = Column(INT, "l", ("x",), span=(0, 3)), Column(INT, "l", ("x",), span=(9, 12))
    assert first == second
    assert len({first, second}) == 1
    assert Literal(INT, 1, "1") == Literal(INT, 1, "+1")
    assert Key(INT, X, name="_l0") == Key(INT, X, name="_l7")
    assert Key(INT, X) != Key(DOUBLE, X)
    assert Key(INT, X) != Cast(INT, X, implicit=True)


def test_columns_and_sides_are_collected_from_all_below() -> None:
    expr = bind("CASE WHEN my_udf(l.x) THEN l.pos.lat ELSE -r.w END > 1", LEFT, RIGHT)
    assert {to_sql(column) for column in expr.columns} == {"l.x", "l.pos.lat", "r.w"}
    assert expr.sides == {"l", "r"}
    assert bind("1 < 2", LEFT, RIGHT).sides == frozenset()
    assert Key(INT, X).side == "l"


def test_an_expression_is_rebuilt_of_changed_parts() -> None:
    swapped = {X: A, A: X}
    call = Call(INT, "-", (X, A))
    assert call.rebuild(lambda part: swapped[part]) == Call(INT, "-", (A, X))
    assert Cast(DOUBLE, X).rebuild(lambda part: swapped[part]) == Cast(DOUBLE, A)
    assert X.rebuild(lambda part: swapped[part]) is X


def test_only_expressions_are_written() -> None:
    with pytest.raises(TypeError, match=r"^not an expression: 5$"):
        to_sql(5)  # type: ignore[arg-type]
