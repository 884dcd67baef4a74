"""Jars by Maven: what `mvn` puts into its local repository, Spark's own resolver finds there without a network."""

import shutil
import subprocess
from pathlib import Path

import pytest

PATIENCE_SECONDS = 300.0
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamjoin</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
  </dependency></dependencies>
</project>
"""


def fetch(coordinates: str, scratch: Path) -> None:
    """Have all jars of a package in the local repository; skip where that cannot be."""
    if shutil.which("mvn") is None:
        pytest.skip(f"mvn is not on the PATH, so {coordinates} cannot be had")
    (scratch / "pom.xml").write_text(_POM.format(*coordinates.split(":")))
    try:
        done = subprocess.run(
            ["mvn", "-q", "-B", "dependency:resolve", "-DincludeScope=runtime"],
            cwd=scratch,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"mvn did not bring {coordinates} within {PATIENCE_SECONDS:.0f} s")
    if done.returncode:
        pytest.skip(f"mvn could not bring {coordinates}: {done.stdout[-500:]}")
