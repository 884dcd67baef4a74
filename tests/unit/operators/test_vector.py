"""Trees over key columns, many pairs at a time; what they mean is compared with Spark in tests/oracle."""

import pyarrow as pa

from streamjoin.operators.expr import Call, Column, Key, Literal
from streamjoin.operators.types import INT, STRING
from streamjoin.operators.vector import evaluate_pairs


def test_bytes_that_are_no_utf8_do_not_fail() -> None:
    """Spark does not check what it casts to a string, such as a message of Kafka."""
    broken = pa.array([b"a\xffb", None, b"ab"], pa.large_binary()).view(pa.large_string())
    key = Key(STRING, Column(STRING, "l", ("s",)), name="s")
    tree = Call(INT, "instr", (key, Literal(STRING, "b", "'b'")))
    assert evaluate_pairs(tree, {"s": broken}, 3).values.to_pylist() == [3, None, 2]
