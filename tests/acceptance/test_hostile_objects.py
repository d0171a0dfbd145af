"""Hostile text in every string of every sample object: no line that is printed for a shell runs it (T08).

Each string field and each key of a map is told apart by kind and path, with list places joined. A run plants one
payload into an eighth of them, so that what stands beside is still read; after all runs every field had its turn.
"""

import re
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.outputs import runbook_markdown
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.samples import fleet
from migrations_app.samples.story import Story
from tests.acceptance.judging import as_list
from tests.acceptance.sandbox import CANARY, is_shell, run
from tests.acceptance.test_hostile_remedies import HOSTILE

SHARES = 8
Place = tuple[str, ...]
Document = dict[str, Any]
BLOCK = re.compile(r"^(?P<fence>`{3,})\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)


class Planting:
    """Plants the payload into the fields whose turn it is; `planted` are those that it found."""

    def __init__(self, share: int, payload: str) -> None:
        self.share, self.payload = share, payload
        self.planted: set[Place] = set()

    def __call__(self, doc: Document) -> Document:
        kind = str(doc.get("kind"))
        return {key: self.walk(value, (kind, key)) for key, value in doc.items()}

    def walk(self, value: Any, at: Place) -> Any:
        if isinstance(value, dict):
            return {self.text(key, (*at, "key", key)): self.walk(each, (*at, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self.walk(each, (*at, "*")) for each in value]
        return self.text(value, at) if isinstance(value, str) else value

    def text(self, value: str, at: Place) -> str:
        if at[-2:-1] == ("key",) and "/" not in value and "." not in value:
            return value  # a field of the API, not a key that somebody chose
        if zlib.crc32("/".join(at).encode()) % SHARES != self.share:
            return value
        self.planted.add(at)
        return f"{value}{self.payload}"


def _places(docs: tuple[Document, ...]) -> set[Place]:
    every: set[Place] = set()
    for share in range(SHARES):
        planting = Planting(share, "")
        for doc in docs:
            planting(doc)
        every |= planting.planted
    return every


def _lines(report: Report) -> Iterator[str]:
    """Everything that is printed to be pasted into a shell: remedies, and the blocks of the runbook."""
    yield from (remedy.text for finding in report.checks for remedy in finding.remedies if is_shell(remedy.text))
    blocks = (found["body"] for found in BLOCK.finditer(runbook_markdown.render(runbook(report))))
    yield from (text for text in blocks if is_shell(text))


@cache
def printed(name: str) -> tuple[dict[str, str], set[Place]]:
    """The shell text of all runs over a story, each once by what was planted, and the fields that were planted."""
    story = next(one for one in fleet.stories() if one.name == name)
    texts: dict[str, str] = {}
    planted: set[Place] = set()
    for share in range(SHARES):
        payload = HOSTILE[(share + zlib.crc32(story.name.encode())) % len(HOSTILE)]
        planting = Planting(share, payload)
        docs = [planting(doc) for doc in story.docs]
        files = as_list(docs, kubernetes="1.29") | {"version.json": dict(fleet.files(story))["version.json"]}
        report = evaluate(collect(open_bundle(files), cluster=f"c{payload}")).report
        texts |= {f"{share} {number}": text for number, text in enumerate(dict.fromkeys(_lines(report)))}
        planted |= planting.planted
    return texts, planted


@pytest.mark.parametrize("story", fleet.stories(), ids=lambda story: story.name)
def test_no_line_runs_what_stands_in_an_object(story: Story, tmp_path: Path) -> None:
    texts, planted = printed(story.name)
    assert planted == _places(tuple(story.docs))
    found = run(texts, tmp_path)
    assert {name: texts[name] for name, words in found.items() if words == [CANARY]} == {}


def test_the_samples_print_commands_and_runbooks() -> None:
    """What the other test runs is no empty set, and holds planted text."""
    texts = [text for story in fleet.stories() for text in printed(story.name)[0].values()]
    assert len(texts) > 200
    assert any("pwned" in text for text in texts)
    assert sum(len(printed(story.name)[1]) for story in fleet.stories()) > 3000
