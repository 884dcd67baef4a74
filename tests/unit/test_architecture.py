"""The page that a newcomer reads first names files and functions that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
FILES = [
    f"/{path.relative_to(ROOT)}"
    for room in ("src/streamjoin", "tests", "benchmarks")
    for path in (ROOT / room).rglob("*.*")
]
QUOTED = re.findall(r"`([^`\n]*\.(?:py|js)(?:: [\w.]+)?)`", PAGE)
NAMED = sorted({tuple(quoted.split(": ")) for quoted in QUOTED})


def find(name: str) -> list[Path]:
    return [ROOT / file[1:] for file in FILES if file.endswith(f"/{name}")]


@pytest.mark.parametrize("named", NAMED, ids=": ".join)
def test_what_the_page_names_is_there(named: tuple[str, ...]) -> None:
    file, *function = named
    assert (found := find(file)), f"no file {file}"
    for name in function:
        last = name.rpartition(".")[2]
        assert any(re.search(rf"\b(def|class) {last}\b", path.read_text()) for path in found), f"no {name} in {file}"


def test_the_page_names_every_room() -> None:
    rooms = {path.name for path in (ROOT / "src" / "streamjoin").iterdir() if (path / "__init__.py").exists()}
    assert not {room for room in rooms if f"| `{room}/`" not in PAGE}
