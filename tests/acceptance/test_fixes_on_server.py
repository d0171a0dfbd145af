"""The lines for kubectl of planted faults, run as they stand against a real API server: a live scan then passes."""

from collections import defaultdict

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import Observation, PersonTask, leaves
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault
from tests.acceptance.proofs import PROVEN, finding_of, proof

FIRST = ("admission_webhooks_current", "stored_versions_clean")
"""Webhooks that nobody answers hold up every later change, and some changes need that one version is stored."""


def lines_of(finding: Finding) -> list[str]:
    """The text of its remedies for kubectl that are changes of objects, each once."""
    return list(
        dict.fromkeys(
            one.text
            for one in finding.remedies
            if one.how == "kubectl"
            and one.change
            and any(not isinstance(step, Observation | PersonTask) for step in leaves(one.change))
        )
    )


def by_cluster() -> dict[str, list[Fault]]:
    """The faults that kubectl alone is proven to clear, by the cluster that they are planted in."""
    found: dict[str, list[Fault]] = defaultdict(list)
    for fault in FAULTS:
        if lines_of(finding_of(fault)) and proof(fault).outcome == PROVEN:
            found[fault.on].append(fault)
    return found
