"""Topics of Kafka as inputs and sinks of joins: JSON values, read into columns by a schema.

The session needs Spark's connector: ``sj.session(packages=["kafka"])``. The guide is ``docs/guides/kafka.md``.
"""

from streamjoin.spark.kafka import read, write

__all__ = ["read", "write"]
