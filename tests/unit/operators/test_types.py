import pytest
from pyspark.sql import types as spark

from streamjoin.errors import StreamJoinError
from streamjoin.operators.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_DAY,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VOID,
    Schema,
    Type,
    decimal,
    find_field,
    parse_type,
)

BY_NAME = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INT,
    "integer": INT,
    "bigint": BIGINT,
    "long": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "decimal": decimal(10, 0),
    "decimal(12)": decimal(12, 0),
    "decimal(10,2)": decimal(10, 2),
    "DECIMAL( 38 , 18 )": decimal(38, 18),
    "numeric(5,1)": decimal(5, 1),
    "dec(3)": decimal(3, 0),
    "string": STRING,
    "char(3)": STRING,
    "varchar(20)": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
    "interval day to second": INTERVAL,
    "interval hour to minute": INTERVAL,
    "interval second": INTERVAL,
    "interval day": INTERVAL_DAY,
    "void": VOID,
    " Double ": DOUBLE,
}


@pytest.mark.parametrize(("name", "type"), BY_NAME.items(), ids=BY_NAME)
def test_a_type_is_read_as_spark_writes_it(name: str, type: Type) -> None:
    assert parse_type(name) == type


@pytest.mark.parametrize("name", ["array<int>", "map<string,int>", "interval year to month", "variant"])
def test_a_type_that_no_predicate_computes_with_keeps_its_text(name: str) -> None:
    assert str(parse_type(name)) == name


@pytest.mark.parametrize("type", list(dict.fromkeys(BY_NAME.values())), ids=str)
def test_a_type_prints_as_it_is_read(type: Type) -> None:
    assert parse_type(str(type)) == type


def test_precision_ends_at_38_digits() -> None:
    assert decimal(40, 45) == decimal(38, 38)


@pytest.mark.parametrize(
    ("types", "properties"),
    [
        ((TINYINT, SMALLINT, INT, BIGINT), {"integral", "numeric", "plain"}),
        ((FLOAT, DOUBLE), {"floating", "numeric", "plain"}),
        ((decimal(10, 2),), {"decimal", "numeric"}),
        ((BOOLEAN, DATE), {"plain"}),
        ((TIMESTAMP, TIMESTAMP_NTZ), {"timestamp", "plain"}),
        ((INTERVAL, INTERVAL_DAY), {"interval", "plain"}),
        ((STRING, BINARY, VOID, UNKNOWN, Type("array<int>"), Type("struct", fields=(("x", INT),))), set()),
    ],
)
def test_what_a_type_is(types: tuple[Type, ...], properties: set[str]) -> None:
    every = ("integral", "floating", "decimal", "numeric", "timestamp", "interval", "plain")
    for type in types:
        assert {name for name in every if getattr(type, f"is_{name}")} == properties


def test_a_schema_is_taken_over_from_spark() -> None:
    moment = spark.StructType().add("d", "date")
    schema = spark.StructType(
        [
            spark.StructField("id", spark.LongType(), nullable=False),
            spark.StructField("price", spark.DecimalType(12, 4)),
            spark.StructField("ts", spark.TimestampType()),
            spark.StructField("tn", spark.TimestampNTZType()),
            spark.StructField("iv", spark.DayTimeIntervalType()),
            spark.StructField("ym", spark.YearMonthIntervalType()),
            spark.StructField("code", spark.VarcharType(3)),
            spark.StructField("tags", spark.ArrayType(spark.StringType())),
            spark.StructField("pos", spark.StructType().add("Lat", "double").add("at", moment)),
        ]
    )
    assert repr(Schema.from_spark(schema)) == (
        "Schema(id bigint, price decimal(12,4), ts timestamp, tn timestamp_ntz, iv interval day to second, "
        "ym interval year to month, code string, tags array<string>, pos struct<Lat:double,at:struct<d:date>>)"
    )


def test_a_schema_takes_names_and_types_in_order() -> None:
    pairs = [("x", "int"), ("a b", DOUBLE)]
    assert Schema(pairs).columns == Schema(dict(pairs)).columns == (("x", INT), ("a b", DOUBLE))
    assert Schema(pairs).names == ["x", "a b"]


def test_names_are_found_without_regard_to_case() -> None:
    schema = Schema({"Price": "double", "ts": "timestamp"})
    assert schema.find("PRICE") == ("Price", DOUBLE)
    assert schema.find("nope") is None


def test_names_that_differ_only_in_case_are_ambiguous() -> None:
    with pytest.raises(StreamJoinError) as error:
        find_field([("x", INT), ("y", INT), ("X", DOUBLE)], "x")
    assert str(error.value) == "ambiguous name x: there are x, X"
