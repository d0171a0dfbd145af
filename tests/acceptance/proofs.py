"""What becomes of each planted fault when the changes of its check are made."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from msgspec import UNSET

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import Change, Observation, PersonTask, leaves
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.readiness.runbook.effects.effect import effect_of_all
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown
from tests.acceptance.judged_faults import judged_fault
from tests.acceptance.judging import at, crashes, loud
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault

TEXT = "by_hand"
"""The remedies of the check, or a part of them that counts, are text and no change."""
PROVEN = "proven"
FAILS = "fails"


class Proof(NamedTuple):
    """`outcome` is PROVEN, TEXT, FAILS, or the code of NotShown; `beside` are checks that fail or are open anew."""

    outcome: str
    beside: frozenset[str] = frozenset()


def changes_of(finding: Finding) -> list[Change]:
    """Each change once, in the order of the remedies: those of all tools carry the same ones."""
    return list(dict.fromkeys(one.change for one in finding.remedies if one.change is not UNSET))


def finding_of(fault: Fault) -> Finding:
    return next(one for one in judged_fault(fault).findings if one.id == fault.check)


@cache
def proof(fault: Fault) -> Proof:
    """The cluster judged again after the changes of the remedies."""
    known = judged_fault(fault)
    return proof_of(finding_of(fault), before=known.report, collected=known.collected, hop=known.hop)


def proof_of(finding: Finding, *, before: Report, collected: CollectResult, hop: str) -> Proof:
    """What becomes of a cluster when the changes of that finding are made: it is judged again at the hop."""
    changes = changes_of(finding)
    if not changes:
        return Proof(TEXT)
    after = effect_of_all(collected.inventory, changes)
    if isinstance(after, NotShown):
        return Proof(after.why)
    report = evaluate(replace(collected, inventory=after)).report
    assert crashes(report) == []
    beside = frozenset(_new(before, report, hop))
    if not is_fixed(finding, at(report, hop)):
        partly = any(one.change is UNSET and one.how != "action" for one in finding.remedies)
        return Proof(TEXT if partly else FAILS, beside)
    return Proof(PROVEN, beside)


def is_fixed(before: Finding, after: tuple[Finding, ...]) -> bool:
    """Whether the check passes, is not asked any more, or names none of what it named."""
    found = next((one for one in after if one.id == before.id), None)
    if found is None or found.status in ("pass", "not_applicable"):
        return True
    return found.status == "fail" and not set(map(_place, before.evidence)) & set(map(_place, found.evidence))


def _place(row: Any) -> tuple[str, ...]:
    return row.kind, row.namespace, row.name, row.path


def _new(before: Report, after: Report, hop: str) -> set[str]:
    """The checks that fail or are open at the hop, and were not; where the hop is gone, at none of the others."""
    if at(after, hop):
        old, new = at(before, hop), at(after, hop)
    else:
        old, new = before.checks, after.checks
    return (loud(new) | _open(new)) - loud(old) - _open(old)


def _open(findings: tuple[Finding, ...]) -> set[str]:
    return {one.id for one in findings if one.status in ("unknown", "manual")}


ON_SERVER = (
    "stale-admission-webhooks",
    "compat-annotations-dropped",
    "taint left",
    "WL-11",
    "CRD-02",
    "capacity-type-default",
    "restricted-tags-alpha",
    "CRD-12",
    "nodepool-resources-forbidden",
    "requirement-defaults-dropped",
    "budgets at zero",
    "ROLL-13",
)
"""The faults that lines for kubectl alone clear, in an order in which they may be made: webhooks that nobody answers
hold up every later change."""
ALONE = (
    "AWS-01",
    "CRD-07",
    "WL-01",
    "WL-03",
    "WL-05",
    "annotations-dropped-v1 on a pool",
    "disrupted-taint-v1",
    "disruption-taint-beta",
    "drift-gate-dropped",
    "metric-pods-drained",
    "neuron-accelerator-label",
    "service-ports-0.29",
    "webhooks-on-again",
)
"""Cleared by lines for kubectl alone as well, each on a server of its own."""
UNSEEN_THERE = (
    "CTL-06",
    "ROLL-14",
    "ROLL-15",
    "ROLL-16",
    "WL-06",
    "WL-07",
    "expired within a day",
    "forceful-expiration",
    "metric-eviction-requests",
    "metric-ignored-pod-count",
    "metrics-renamed-beta",
    "metrics-renamed-v1",
    "nodeclaim-condition-reason",
    "nodeclassref-group",
    "post-install-hook",
)
"""Their cause is a running pod, an age, a status, an older stored shape or a kind of the Prometheus operator, which a
server without controllers and nodes does not show as it was planted; they are proven in memory alone."""
GUARDED = ("alpha-kinds-replaced",)
"""Cleared by kubectl alone as well, once what its lines look at is gone: test_guards_on_server shows both."""
NEWER_KUBECTL = ("stored-versions",)
"""Cleared by kubectl alone as well, but its lines name a subresource, which the kubectl of the tests (1.20) does not
know yet: test_remedies_dry_run sends that patch itself."""


def by_cluster() -> Iterator[tuple[str, list[Fault]]]:
    """Those faults, by the cluster that they are planted in."""
    chosen = sorted((one for one in FAULTS if one.of in ON_SERVER), key=lambda one: ON_SERVER.index(one.of))
    for name in dict.fromkeys(one.on for one in chosen):
        yield name, [one for one in chosen if one.on == name]


def lines_of(finding: Finding) -> list[str]:
    """The text of its remedies for kubectl that are changes of objects, each once."""
    shown = (one for one in finding.remedies if one.how == "kubectl" and one.change is not UNSET)
    return list(dict.fromkeys(one.text for one in shown if any(map(_writes, leaves(one.change)))))


def _writes(change: Change) -> bool:
    return not isinstance(change, Observation | PersonTask)


def by_kubectl_alone(fault: Fault) -> bool:
    """Whether it is proven, and no other tool has to make a part of it."""
    finding = finding_of(fault)
    shown = [one for one in finding.remedies if one.how == "kubectl" and one.change is not UNSET]
    alone = {one.change for one in shown} == set(changes_of(finding))
    return bool(lines_of(finding)) and alone and proof(fault).outcome == PROVEN
