"""The catalogue of findings, and findings as values."""

import re

import pytest

from migrations_app.karpenter.conversion.loss_codes import CATALOGUE
from migrations_app.karpenter.conversion.losses import Loss, Notes, worst
from tests.karpenter.conversion import case_files

_GIVEN_FACTS = case_files.GIVEN.parent / "conversion.md"
# own codes, for what the facts leave without one
_OWN = {
    "duplicate-object", "not-yaml", "file-unreadable", "too-large", "no-way-back", "same-name-result",
    "already-v1beta1", "nodeclaim-view-only", "container-runtime-default", "later-defaults",
}  # fmt: skip


def test_every_code_says_why_and_whence() -> None:
    assert [code for code, entry in CATALOGUE.items() if not entry.why.endswith(".") or not entry.source] == []
    assert [code for code in CATALOGUE if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", code)] == []


@pytest.mark.skipif(not _GIVEN_FACTS.exists(), reason="the facts are not here")
def test_the_catalogue_is_that_of_the_facts() -> None:
    table = _GIVEN_FACTS.read_text(encoding="utf-8").split("\n## 17 ")[1].split("\n## 18 ")[0]
    wanted = {
        code: severity
        for severity, codes in re.findall(r"^\| (error|action|warn|info) \| `([^`]+)` \|$", table, re.MULTILINE)
        for code in codes.split()
    }
    assert {code: entry.severity for code, entry in CATALOGUE.items() if code not in _OWN} == wanted


def test_a_loss_for_json() -> None:
    loss = Loss("role-is-arn", "EC2NodeClass", "blue", ("spec", "role"), "it is an ARN", proposal="nodes")
    assert loss.as_dict() == {
        "severity": "action",
        "code": "role-is-arn",
        "object": {"kind": "EC2NodeClass", "name": "blue"},
        "path": "spec.role",
        "what": "it is an ARN",
        "why": CATALOGUE["role-is-arn"].why,
        "source": CATALOGUE["role-is-arn"].source,
        "proposal": "nodes",
    }


@pytest.mark.parametrize(
    ("codes", "severity"),
    [
        ([], None),
        (["already-v1"], "info"),
        (["already-v1", "expire-forceful"], "warn"),
        (["expire-forceful", "role-is-arn"], "action"),
        (["role-is-arn", "no-provider"], "error"),
    ],
)
def test_worst_severity(codes: list[str], severity: str | None) -> None:
    losses = [Loss(code, "", "", (), "") for code in codes]
    assert worst(losses) == severity


def test_only_errors_fail_an_object() -> None:
    notes = Notes("NodePool", "a")
    notes.add("role-is-arn", (), what="x")
    assert not notes.failed
    notes.add("no-provider", (), what="x")
    assert notes.failed
