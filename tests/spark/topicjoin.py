"""The join of `filejoin` over topics, as a program that can be killed: ``python -m tests.spark.topicjoin {...}``.

The same rows lie in a topic for each side, over two partitions; a micro-batch takes up as many of either as a file
holds. Results go into a third topic, each under its id.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamjoin as sj
from tests.spark.filejoin import LAST, SCHEMA, WINDOW_SECONDS, FileJoin, open_session

PARTITIONS = 2
_RESULTS = "l BIGINT, r BIGINT, join_time TIMESTAMP, result_id STRING"
_LATER_SECONDS = 1_000_000


@dataclass(frozen=True)
class TopicJoin(FileJoin):
    """What the program is told: beside a home, where its topics are, and the rows of a micro-batch."""

    url: str = ""
    rows: int = 60

    def arguments(self) -> list[str]:
        return ["-m", "tests.spark.topicjoin", json.dumps(asdict(self))]

    def write_topics(self, spark: SparkSession) -> None:
        """Put the rows of the files into topics, and after them three micro-batches of rows that nothing matches."""
        servers, name = self.url.removeprefix("kafka://").split("/")
        for side, x in (("left", 1), ("right", -1)):
            rows = spark.read.schema(SCHEMA).parquet(str(Path(self.home, side)))
            last = spark.range(LAST, LAST + 3 * self.rows).selectExpr(
                "id",
                f"timestamp_seconds(1000000000 + {_LATER_SECONDS}) AS ts",
                f"int({x} * (id - {LAST} + 1) * 5000) AS x",
            )
            times = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
            records = rows.union(last).repartition(1).sortWithinPartitions("id")
            records = records.select(
                F.to_json(F.struct("id", "ts", "x"), times).alias("value"),
                F.expr(f"int(id % {PARTITIONS}) AS partition"),
            )
            writer = records.write.format("kafka").option("kafka.bootstrap.servers", servers)
            writer.option("topic", name + side).save()

    def joined(self, spark: SparkSession) -> DataFrame:
        limit = {"maxOffsetsPerTrigger": str(self.rows)}
        sides = [sj.kafka.read(spark, self.url + side, schema=SCHEMA, options=limit) for side in ("left", "right")]
        return sj.join(
            *sides,
            on=self.on,
            window=sj.within(f"{WINDOW_SECONDS} seconds"),
            time="ts",
            delay=self.delay,
            how=self.how,
            select=["l.id AS l", "r.id AS r"],
            result_id=True,
        )

    def write_results(self, joined: DataFrame) -> Any:
        return sj.kafka.write(joined, self.url + "out")

    def read_results(self, spark: SparkSession) -> DataFrame:
        """All records of the sink, those that it has twice among them."""
        found = sj.kafka.read(spark, self.url + "out", schema=_RESULTS, keep=["key"], streaming=False)
        return found.where(f"coalesce(l, r) < {LAST}")


def main(told: TopicJoin) -> None:
    spark = open_session(told, packages=["kafka"])
    told.start(spark).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(TopicJoin(**json.loads(sys.argv[1])))
