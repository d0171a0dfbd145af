"""Every remedy that is offered on the clean clusters, the planted ones and the sample fleet, with what it is about."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from migrations_app.checks.base import Remedy
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.samples.fleet import aws, files, stories
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.judged_faults import judged_fault
from tests.acceptance.judging import judged
from tests.acceptance.planted import FAULTS

Document = dict[str, Any]


class Advice(NamedTuple):
    """A remedy of a failing check, and the objects of the cluster it is for."""

    check: str
    cluster: str
    remedy: Remedy
    documents: tuple[Document, ...]

    def __str__(self) -> str:
        return f"{self.check} on {self.cluster}, {self.remedy.how}: {self.remedy.text}"


@cache
def _reports() -> tuple[tuple[str, tuple[Document, ...], Report], ...]:
    return tuple(_judged())


def _judged() -> Iterator[tuple[str, tuple[Document, ...], Report]]:
    for clean in CLEAN:
        documents = objects(clean)
        yield clean.name, tuple(documents), judged(clean, documents)
    for fault in FAULTS:
        known = judged_fault(fault)
        yield fault.name, known.documents, known.report
    for story in stories():
        collected = add_aws(collect(open_bundle(dict(files(story))), cluster=story.name), aws(story))
        yield story.name, story.docs, evaluate(collected).report


@cache
def advice() -> tuple[Advice, ...]:
    """Each remedy once for each text; those of questions that a person has to answer as well."""
    found: dict[tuple[str, str, str], Advice] = {}
    for name, documents, report in _reports():
        for finding in report.checks:
            for remedy in finding.remedies:
                key = (finding.id, remedy.how, remedy.text)
                found.setdefault(key, Advice(finding.id, name, remedy, documents))
    return tuple(found.values())


@cache
def planned() -> tuple[Advice, ...]:
    """Each command that a plan prints for a stage of its own, once for each text."""
    found: dict[str, Advice] = {}
    for name, documents, report in _reports():
        for hop in runbook(report).hops:
            for remedy in (one for stage in hop.stages for one in stage.commands):
                found.setdefault(remedy.text, Advice(hop.path_hop.name, name, remedy, documents))
    return tuple(found.values())


@cache
def without_advice() -> frozenset[str]:
    """The checks that failed somewhere and offered nothing."""
    return frozenset(
        one.id for *_, report in _reports() for one in report.checks if one.status == "fail" and not one.remedies
    )
