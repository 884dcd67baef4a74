"""What has no meaning for a pair of rows: aggregates, sub-queries, functions that give another value at every try."""

from functools import cache

from sqlglot import exp

from streamjoin.sql.written import Written

_NOT_REPEATABLE = frozenset(
    (
        *("rand", "random", "randn", "uuid", "shuffle", "randstr", "uniform"),
        *("current_timestamp", "now", "current_date", "curdate", "current_time", "localtimestamp"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("input_file_block_start", "input_file_block_length", "reflect", "java_method"),
    )
)
_MORE_AGGREGATES = frozenset(  # Spark's, beyond those that sqlglot lists
    (
        *("collect_list", "collect_set", "mean", "std", "percentile", "approx_percentile", "percentile_approx"),
        *("bit_and", "bit_or", "bit_xor", "every", "some", "try_sum", "try_avg", "listagg", "string_agg"),
        *("histogram_numeric", "count_min_sketch"),
    )
)
_TESTS = (exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.RegexpLike)
_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def explain_no_repeat(name: str) -> str:
    """Why a function, or a word, cannot be part of a condition."""
    return (
        f"{name} gives another value at every try, so the join would have no repeatable result; "
        "compute it as a column before the join"
    )


def refuse_meaningless(node: exp.Expr, written: Written) -> None:
    """Refuse what has no meaning for a pair of rows."""
    if isinstance(node, exp.Star | exp.Alias) or (isinstance(node, exp.Between) and node.args.get("symmetric")):
        raise written.error("this has no meaning in a join condition", written.span(node))
    if isinstance(node, _COMPARISONS) and any(
        isinstance(child.this if isinstance(child, exp.Not) else child, _TESTS)
        for child in (node.this, node.expression)
    ):
        raise written.error("write parentheses: this is read in more than one way", written.span(node))
    if isinstance(node, exp.Window):
        raise written.error("a window function cannot be part of a join condition", written.span(node))
    if isinstance(node, exp.Query | exp.Exists | exp.SubqueryPredicate) or node.args.get("query"):
        start, end = written.span(node)
        start = max(written.text.lower().rfind("select", 0, end), 0)
        raise written.error("a sub-query cannot be part of a join condition", (start, end))
    if not isinstance(node, exp.Func):
        return
    name = str(node.this if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    if name == "unix_timestamp" and not node.expressions:
        name = "current_timestamp"
    if is_aggregate(name):
        raise written.error(f"the aggregate {name} cannot be part of a join condition", written.span(node))
    if name in _NOT_REPEATABLE:
        span = written.span(node)
        if span == (0, len(written.text)) and (start := written.text.lower().find(name)) >= 0:
            span = start, start + len(name)  # sqlglot does not say where words without parentheses stand
        raise written.error(explain_no_repeat(name), span)


def is_aggregate(name: str) -> bool:
    """Whether Spark aggregates by a function of this name, whether we know it or not."""
    return name.lower() in _aggregates()


@cache
def _aggregates() -> frozenset[str]:
    def below(cls: type[exp.Func]) -> set[type[exp.Func]]:
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    return _MORE_AGGREGATES | {name.lower() for cls in below(exp.AggFunc) for name in cls.sql_names()}
