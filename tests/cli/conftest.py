"""Stories as bundles on disk, and the command as a function."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from migrations_app.cli import main
from migrations_app.samples import fleet


@dataclass(frozen=True)
class Said:
    """What one run of the command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Karpdash = Callable[..., Said]


@pytest.fixture
def karpdash(capsys: pytest.CaptureFixture[str]) -> Karpdash:
    """Runs the command in this process."""

    def run(*words: object) -> Said:
        code = main([str(word) for word in words])
        told = capsys.readouterr()
        return Said(code, told.out, told.err)

    return run


@pytest.fixture
def bundle(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the bundle of a sample story; its folder."""

    def write(name: str) -> Path:
        story = fleet.find(name)
        assert story is not None
        fleet.write(story, tmp_path / name)
        return tmp_path / name

    return write
