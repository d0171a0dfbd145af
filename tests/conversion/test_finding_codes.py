"""The catalogue of findings, and findings as values."""

import re

import pytest

from migrations_app.conversion.finding_codes import CATALOGUE
from migrations_app.conversion.findings import ConversionFinding, FindingCollector, worst
from tests import upstream

# own codes, for what the upstream tools leave without one
_OWN = {
    "values-no-map", "values-template", "values-not-read", "values-secret", "values-lost", "values-cluster-name",
    "values-default-changed", "values-unknown", "values-comments-lost", "values-moved", "values-left-out",
    "values-name-override",
    "duplicate-object", "not-yaml", "file-unreadable", "too-large", "no-way-back", "same-name-result",
    "already-v1beta1", "nodeclaim-view-only", "container-runtime-default", "later-defaults",
    "al2023-gpu-no-image",
    "selector-term-empty", "api-refuses", "node-protection-widened", "older-field", "unknown-api-version",
}  # fmt: skip


def test_every_code_says_why_and_whence() -> None:
    assert [code for code, entry in CATALOGUE.items() if not entry.why.endswith(".") or not entry.source] == []
    assert [code for code in CATALOGUE if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", code)] == []


def test_the_catalogue_has_the_severities_that_are_written_down() -> None:
    found = {code: entry.severity for code, entry in CATALOGUE.items() if code not in _OWN}
    assert found == upstream.finding_codes()


def test_a_loss_for_json() -> None:
    loss = ConversionFinding("role-is-arn", "EC2NodeClass", "blue", ("spec", "role"), "it is an ARN", proposal="nodes")
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
    losses = [ConversionFinding(code, "", "", (), "") for code in codes]
    assert worst(losses) == severity


def test_only_errors_fail_an_object() -> None:
    notes = FindingCollector("NodePool", "a")
    notes.add("role-is-arn", (), what="x")
    assert not notes.failed
    notes.add("no-provider", (), what="x")
    assert notes.failed
