"""A bundle of a cluster is judged as the cluster itself: every sample, every clean cluster, each with many faults."""

import io
from collections.abc import Iterable
from typing import Any

import pytest

from migrations_app.checks.base import Finding
from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.clients.bundle.writer import Recording
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Report
from migrations_app.samples import fleet
from tests.acceptance.clusters import CLEAN, Clean, objects
from tests.acceptance.judging import as_list
from tests.acceptance.planted import FAULTS

Document = dict[str, Any]


def both(cluster: Bundle, name: str) -> tuple[Report, Report]:
    """The report on the cluster, and that on a bundle which was recorded while it was read."""
    recording, packed = Recording(cluster), io.BytesIO()
    live = collect(recording, cluster=name)
    recording.write(packed, made_at=live.inventory.taken_at, made_by="tests")
    bundled = collect(open_bundle(packed.getvalue()), cluster=name)
    return evaluate(live).report, evaluate(bundled).report


def told(findings: Iterable[Finding]) -> dict[tuple[str, str], object]:
    """Everything that a person sees of each finding."""
    return {
        (one.hop, one.id): (one.status, one.severity, one.summary, one.evidence_total, one.evidence, one.remedies)
        for one in findings
    }


def compared(cluster: Bundle, name: str) -> None:
    live, bundled = both(cluster, name)
    there, here = told(bundled.checks), told(live.checks)
    assert {key: there.get(key) for key in here if there.get(key) != here[key]} == {}
    assert (bundled.cluster, bundled.target, bundled.hops) == (live.cluster, live.target, live.hops)
    assert bundled.legacy == live.legacy
    assert [(one.name, one.seen, one.count) for one in bundled.parts] == [
        (one.name, one.seen, one.count) for one in live.parts
    ]


@pytest.mark.parametrize("story", fleet.stories(), ids=lambda story: story.name)
def test_samples(story: Any) -> None:
    compared(open_bundle(dict(fleet.files(story))), story.name)


def faulty(clean: Clean) -> list[Document]:
    """The clean cluster with every fault that is planted into it."""
    documents = objects(clean)
    for fault in FAULTS:
        if fault.on == clean.name:
            try:
                fault.plant(documents)
            except LookupError:  # another fault has taken its object away
                continue
    return documents


@pytest.mark.parametrize("faults", [False, True], ids=["clean", "with its faults"])
@pytest.mark.parametrize("clean", CLEAN, ids=lambda clean: clean.name)
def test_clusters_of_every_release(clean: Clean, faults: bool) -> None:
    documents = faulty(clean) if faults else objects(clean)
    compared(open_bundle(as_list(documents, kubernetes=clean.kubernetes)), clean.name)
