"""The job that runs in Flink's own environment: reads CSV, joins, prints seconds and results as JSON.

python flink_job.py DIRECTORY WINDOW_SECONDS
"""

import json
import os
import sys
import time
from importlib.metadata import version

COLUMNS = {"l": "x INT, y FLOAT, z STRING", "r": "a INT, b FLOAT, c DOUBLE, d BOOLEAN"}
JOIN = """
SELECT COUNT(*) FROM (
  SELECT l.x, l.y, l.z, r.a, r.b, r.c, r.d
  FROM (
    SELECT t, x, y, z, FLOOR((x - 10) / 20e0) AS bucket FROM l_{name}
    UNION ALL
    SELECT t, x, y, z, FLOOR((x + 10) / 20e0) AS bucket FROM l_{name}
    WHERE FLOOR((x + 10) / 20e0) <> FLOOR((x - 10) / 20e0)
  ) l JOIN (SELECT t, a, b, c, d, FLOOR(a / 20e0) AS bucket FROM r_{name}) r
  ON l.bucket = r.bucket AND l.x BETWEEN r.a - 10 AND r.a + 10 AND l.y BETWEEN r.b - 10 AND r.b + 10
  AND r.t BETWEEN l.t - INTERVAL '{window}' MINUTE TO SECOND AND l.t + INTERVAL '{window}' MINUTE TO SECOND
)
"""


def main() -> None:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    home, seconds = sys.argv[1], int(sys.argv[2])
    window = f"{seconds // 60:02}:{seconds % 60:02}"
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", str(os.cpu_count() or 1))
    found = {"version": f"apache-flink {version('apache-flink')}"}
    for name in ("fill", "all"):
        for side, columns in COLUMNS.items():
            tables.execute_sql(
                f"CREATE TEMPORARY TABLE {side}_{name} (ts BIGINT, {columns}, t AS TO_TIMESTAMP_LTZ(ts, 3), "
                f"WATERMARK FOR t AS t) WITH ('connector' = 'filesystem', 'path' = 'file://{home}/{name}/{side}', "
                "'format' = 'csv')"
            )
    for name in ("fill", "fill", "all"):  # the first run compiles
        begun, results = time.perf_counter(), 0
        with tables.execute_sql(JOIN.format(name=name, window=window)).collect() as rows:
            for row in rows:
                results = row[0]
        found[name] = {"seconds": time.perf_counter() - begun, "results": results}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
