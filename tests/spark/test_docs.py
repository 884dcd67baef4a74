"""The README and the tutorial are executed, and print what they say."""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return FENCE.findall((ROOT / page).read_text())


def run(page: str) -> None:
    """Run a page's Python blocks one after the other; what one prints is what the text block after it shows."""
    namespace: dict[str, object] = {}
    printed = ""
    for language, content in blocks(page):
        if language == "python":
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(content, page, "exec"), namespace)
            printed = output.getvalue()
        elif language == "text":
            assert [line.rstrip() for line in printed.rstrip().splitlines()] == content.rstrip().splitlines()


def execute(directory: Path, *pages: str) -> None:
    """Run pages as a user would: in a process of their own, in this directory, where Spark finds their files too."""
    program = f"from tests.spark.test_docs import run\nfor page in {pages!r}: run(page)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "TZ": "UTC"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.guarantee
@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    execute(tmp_path, "docs/tutorial.md")


@pytest.mark.guarantee
@pytest.mark.slow
def test_the_tutorials_of_the_other_verbs_do_what_they_say(tmp_path: Path) -> None:
    names = ("point-in-time-features", "quotes-before-trades", "rolling-statistics")
    execute(tmp_path, *(f"docs/tutorials/{name}.md" for name in names))


def test_the_readme_shows_the_join_at_work(tmp_path: Path) -> None:
    """On the rows that the tutorial begins with."""
    setup = next(content for language, content in blocks("docs/tutorial.md") if language == "python")
    rows = setup[setup.index("def drop") : setup.index("trades = ")]
    program = "import json\nfrom pathlib import Path\n" + rows
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    execute(tmp_path, "README.md")
