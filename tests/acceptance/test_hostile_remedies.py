"""Hostile text in every field of every finding and in the names of every object: no printed command runs it."""

import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from migrations_app.checks.base import Check, CheckContext, Evidence, Remedy
from migrations_app.inventory import parse
from tests.acceptance.clusters import CLEAN, find, objects
from tests.acceptance.judging import judged
from tests.acceptance.planted import FAULTS
from tests.acceptance.sandbox import CANARY, is_shell, run

HOSTILE = (
    "$(>pwned)",
    "`>pwned`",
    ";>pwned;",
    "'$(>pwned)'",
    '"$(>pwned)"',
    "'\";>pwned #",
    "\n>pwned\n",
    "\r\n>pwned\u2028>pwned\x1b[201~\n>pwned",
    "\\';>pwned;'",
)
FIELDS = ("kind", "name", "namespace", "path", "seen", "wanted")
RENAMED = frozenset(
    (
        *("Provisioner", "AWSNodeTemplate", "Machine", "NodePool", "EC2NodeClass", "NodeClaim", "Node", "StatefulSet"),
        *("Job", "CronJob", "PodDisruptionBudget", "Application", "HelmRelease", "Kustomization", "Pod"),
        *("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
    )
)
Document = dict[str, Any]


class Watch:
    """Stands in the place of Check.remedies: asks again with hostile evidence, and keeps each answer once."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.checks: set[str] = set()
        self.asked: set[tuple[str, str, str]] = set()
        self.real = Check.remedies

    def __call__(self, check: Check, case: CheckContext, evidence: tuple[Evidence, ...]) -> tuple[Remedy, ...]:
        found = self.real(check, case, evidence)
        self.keep(f"{check.id} as it is {len(self.texts)}", found)
        for field in FIELDS:
            for payload in HOSTILE:
                key = (check.id, field, payload)
                if key not in self.asked and any(getattr(row, field) for row in evidence):
                    self.ask(check, case, evidence=tuple(_with(row, field, payload) for row in evidence), key=key)
        return found

    def ask(
        self, check: Check, case: CheckContext, *, evidence: tuple[Evidence, ...], key: tuple[str, str, str]
    ) -> None:
        try:
            found = self.real(check, case, evidence)
        except (LookupError, ValueError):  # the check looks up what the evidence names, and that is not there
            return
        self.asked.add(key)
        self.checks.add(check.id)
        self.keep(" ".join((check.id, key[1], repr(key[2]))), found)

    def keep(self, name: str, found: tuple[Remedy, ...]) -> None:
        for number, remedy in enumerate(found):
            self.texts[f"{name} {number} {remedy.how}"] = remedy.text


def _with(row: Evidence, field: str, payload: str) -> Evidence:
    return msgspec.structs.replace(row, **{field: f"{getattr(row, field)}{payload}"})


def renamed(documents: list[Document], payload: str) -> list[Document]:
    """The documents with the payload behind the names of objects, and wherever such a name stands."""
    names = {one["metadata"]["name"] for one in documents if one.get("kind") in RENAMED}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(each) for key, each in value.items()}
        if isinstance(value, list):
            return [walk(each) for each in value]
        return f"{value}{payload}" if isinstance(value, str) and value in names else value

    return [walk(one) for one in documents]


def _clusters() -> Iterator[tuple[Any, list[Document], str]]:
    for clean in CLEAN:
        yield clean, objects(clean), clean.kubernetes
    for fault in FAULTS:
        clean = find(fault.on)
        documents = objects(clean)
        fault.plant(documents)
        yield clean, documents, fault.kubernetes or clean.kubernetes


@cache
def watched() -> Watch:
    """Every planted cluster judged, its objects renamed with one of the payloads in turn, evidence with all of them."""
    watch = Watch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Check, "remedies", lambda *given: watch(*given))
        # Such names are set aside when they are read; here what quotes them is tried alone.
        patch.setattr(parse, "name_problem", lambda _found: "")
        for number, (clean, documents, kubernetes) in enumerate(_clusters()):
            judged(clean, renamed(documents, HOSTILE[number % len(HOSTILE)]), kubernetes=kubernetes)
            if number % 2:
                judged(clean, documents, kubernetes=kubernetes)
    return watch


@pytest.mark.parametrize("payload", HOSTILE)
def test_the_sandbox_sees_what_runs(tmp_path: Path, payload: str) -> None:
    lines = {
        "bare": f"kubectl get x{payload} y",
        "single": f"kubectl -p '{payload}'",
        "double": f'kubectl -p "{payload}"',
    }
    found = run({**lines, "quoted": f"kubectl get {shlex.quote(payload)}"}, tmp_path)
    assert [CANARY] in found.values()
    assert found["quoted"] == ["kubectl", "get", payload]


@pytest.mark.xdist_group("hostile-remedies")
def test_no_printed_command_runs_what_a_cluster_says(tmp_path: Path) -> None:
    watch = watched()
    shell = {text: name for name, text in watch.texts.items() if is_shell(text)}
    found = run({text: text for text in shell}, tmp_path)
    assert {shell[text]: text for text, words in found.items() if words == [CANARY]} == {}
    assert len(watch.checks) > 100
    assert any(payload in word for words in found.values() for word in words for payload in HOSTILE[:6])


@pytest.mark.xdist_group("hostile-remedies")
def test_no_comment_and_no_value_of_code_breaks_its_line() -> None:
    code = {name: text for name, text in watched().texts.items() if not is_shell(text)}
    broken = [name for name, text in code.items() if any(line.startswith(">pwned") for line in text.splitlines())]
    assert len(code) > 100
    assert broken == []
