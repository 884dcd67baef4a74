"""Without PySpark the package imports and serves what needs none; the rest says what to install."""

import subprocess
import sys

import pytest

ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "pandas", "google", "grpc"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

sys.meta_path.insert(0, Absent())
"""
SERVED = """
import streamjoin as sj
from streamjoin import reference

assert str(sj.Grid(2, 3)) == "Grid(2, 3)"
rows = [{"ts": second * 1_000_000} for second in range(3)]
law = reference.join([reference.Batch(rows, rows, None)], lambda l, r: True, sj.within("1s"))
print(len(law.rows))

import pyarrow as pa

schema = pa.schema([("ts", pa.int64())])
with sj.LocalJoin(on="true", window=sj.within("1s"), left=schema, right=schema, time="ts", delay="0s") as local:
    for row in rows:
        local.push_left(row)
    local.push_right(pa.Table.from_pylist(rows, schema))
    assert local.read().num_rows == len(law.rows)
"""
REFUSED = {
    "join": 'sj.join([], [], on="l.x = r.x", time="ts", window=sj.within("1s"))',
    "explain": 'sj.explain([], [], on="l.x = r.x", time="ts", window=sj.within("1s"))',
    "session": "sj.session()",
    "configure": "sj.configure(None)",
    "progress": "sj.progress(None)",
}


def run(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", ABSENT + program], capture_output=True, text=True, check=False)


def test_windows_layouts_and_the_reference_serve() -> None:
    done = run(SERVED)
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_the_verbs_are_there_to_be_imported() -> None:
    assert run("\nfrom streamjoin import *\nprint(hasattr(__import__('streamjoin'), 'configure'))").stdout == "True\n"


@pytest.mark.parametrize("verb", REFUSED)
def test_a_verb_says_what_to_install(verb: str) -> None:
    caught = (
        f"\nimport streamjoin as sj\ntry:\n    {REFUSED[verb]}\nexcept sj.StreamJoinError as error:\n    print(error)"
    )
    assert "pip install 'streamjoin[spark]'" in run(caught).stdout


def test_the_command_line_says_what_to_install() -> None:
    command = "\nfrom streamjoin.cli.app import main\nmain(['{}'], prog_name='streamjoin')"
    helped, refused = run(command.format("--help")), run(command.format("demo"))
    assert (helped.returncode, "demo" in helped.stdout) == (0, True)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: Joins on Spark need PySpark")


@pytest.mark.parametrize(("found", "refused"), [("3.5.9", True), ("4.0.0", False), ("4.4.0.dev1", False)])
def test_a_spark_that_is_too_old_is_refused(found: str, refused: bool) -> None:
    program = f"""
import pyspark
pyspark.__version__ = {found!r}
try:
    import streamjoin.spark
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ("need PySpark 4.0 or later; this is 3.5.9" in done.stdout) == refused
