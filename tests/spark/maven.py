"""Jars by Maven: what `mvn` puts into its local repository, Spark's own resolver finds there without a network."""

import shutil
import subprocess
from pathlib import Path

import pytest

PATIENCE_SECONDS = 300.0
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamjoin</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def fetch(coordinates: str, scratch: Path) -> None:
    """Have all jars of a package in the local repository; skip where that cannot be."""
    _run(["dependency:resolve"], [coordinates], scratch)


def copy_jars(coordinates: list[str], scratch: Path) -> Path:
    """A directory with all jars of packages; skip where they cannot be had."""
    _run(["dependency:copy-dependencies", "-DoutputDirectory=jars"], coordinates, scratch)
    return scratch / "jars"


def _run(goal: list[str], coordinates: list[str], scratch: Path) -> None:
    what = " and ".join(coordinates)
    if (mvn := shutil.which("mvn")) is None:
        pytest.skip(f"mvn is not on the PATH, so {what} cannot be had")
    wanted = "".join(_DEPENDENCY.format(*each.split(":")) for each in coordinates)
    (scratch / "pom.xml").write_text(_POM.format(wanted))
    command = [mvn, "-q", "-B", *goal, "-DincludeScope=runtime"]
    try:
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"mvn did not bring {what} within {PATIENCE_SECONDS:.0f} s")
    if done.returncode:
        pytest.skip(f"mvn could not bring {what}: {done.stdout[-500:]}")
