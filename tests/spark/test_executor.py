"""Executors that lack what the driver has."""

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.filejoin import FileJoin, write_inputs


@pytest.mark.every_spark
def test_numba_missing_on_an_executor_is_told_in_one_paragraph(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "numba.py").write_text("raise ModuleNotFoundError(\"No module named 'numba'\", name='numba')\n")
    # Another environment has Python workers of its own, which look here first.
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", str(absent))
    told = FileJoin(str(tmp_path))
    write_inputs(tmp_path, files=1, rows=10)
    with pytest.raises(StreamingQueryException) as failed:
        told.start(spark).awaitTermination()
    [paragraph] = {line for line in str(failed.value).splitlines() if "cannot run streamjoin" in line}
    for part in ("No module named 'numba'", "pip install", "PYSPARK_PYTHON"):
        assert part in paragraph
