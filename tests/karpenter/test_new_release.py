"""A minor of tomorrow is one more row: nothing else has to know about it."""

from dataclasses import replace

import pytest

from migrations_app.karpenter import controller, releases
from migrations_app.karpenter.detection import CrdSeen, Detected, Evidence, detect
from migrations_app.karpenter.hops import path
from migrations_app.karpenter.release_shape import (
    BadPatch,
    Gate,
    KubernetesWindow,
    MinorRelease,
    Patch,
    RollbackTarget,
    Since,
)
from migrations_app.karpenter.releases import RELEASES, Table
from migrations_app.karpenter.versions import release

NEWEST = RELEASES[-1]
IMAGINARY = replace(
    NEWEST,
    minor="1.15",
    patches=(Patch("1.15.0", "2027-01-01"), Patch("1.15.1", "2027-01-15"), Patch("1.15.2", "2027-02-01")),
    kubernetes=(Since("1.15.0", KubernetesWindow("1.33", "1.38")),),
    crds=(Since("1.15.0", "v1_overlay_buffer"),),
    gates=(*NEWEST.gates, Gate("Foresight", default=True)),
    upgrade_from=("1.0", "1.14"),
    rollback_to=(RollbackTarget("1.14"),),
    bad=(BadPatch("1.15.2", "1.15.2", "forgets its nodes", "1.15.3"),),
)


@pytest.fixture
def table() -> Table:
    return (*RELEASES, IMAGINARY)


def road(table: Table, current: str, **wanted: str) -> list[tuple[str, str]]:
    return [(step.hop, str(step.release)) for step in path(current, table=table, **wanted).steps]


def test_it_is_the_default_target_at_its_newest_good_patch(table: Table) -> None:
    assert str(releases.newest(table=table)) == "1.15.1"
    assert road(table, "1.1.10", kubernetes="1.36") == [("1.15", "1.15.1")]
    assert road(table, "1.1.10", target="1.15", kubernetes="1.36") == [("1.15", "1.15.1")]


def test_kubernetes_windows_that_do_not_touch_force_a_stop(table: Table) -> None:
    steps = path("1.1.10", kubernetes="1.31", table=table).steps
    assert [(step.hop, str(step.release)) for step in steps] == [("1.14", "1.14.1"), ("1.15", "1.15.1")]
    assert [step.kubernetes_change for step in steps] == [
        "",
        "Before this step raise Kubernetes from 1.31 to 1.33; up to 1.36 fits both releases",
    ]


def test_windows_far_apart_force_as_many_stops_as_it_takes(table: Table) -> None:
    far = replace(
        IMAGINARY,
        minor="1.16",
        patches=(Patch("1.16.0", "2027-06-01"),),
        kubernetes=(Since("1.16.0", KubernetesWindow("1.38", "1.42")),),
        crds=(Since("1.16.0", "v1_overlay_buffer"),),
        bad=(),
    )
    stops = road((*table, far), "1.1.10", kubernetes="1.31")
    assert stops == [("1.14", "1.14.1"), ("1.15", "1.15.1"), ("1.16", "1.16.0")]


def test_where_nothing_lies_between_both_are_raised_together() -> None:
    gap = (releases.row_of(release("1.1.0")), IMAGINARY)
    (step,) = path("1.1.10", kubernetes="1.31", table=gap).steps
    assert step.kubernetes_change == (
        "Raise Kubernetes from 1.31 to 1.33 together with this step: "
        "1.1.10 supports no more than 1.31, 1.15.1 no less than 1.33"
    )


def test_its_bad_patch_and_its_way_back(table: Table) -> None:
    assert [bad.why for bad in releases.bad_reasons(release("1.15.2"), table=table)] == ["forgets its nodes"]
    (step,) = path("1.14.1", kubernetes="1.36", table=table).steps
    assert step.rollback_to == (release("1.14.1"),)


def test_it_is_detected_by_shape(table: Table) -> None:
    crds = {
        "nodepools.karpenter.sh": CrdSeen(("v1",), "v1"),
        "nodeoverlays.karpenter.sh": CrdSeen(("v1alpha1",), "v1alpha1"),
        "capacitybuffers.autoscaling.x-k8s.io": CrdSeen(("v1beta1",), "v1beta1"),
    }
    found = detect(Evidence(crds=crds), table=table)
    assert found == Detected(minors=("1.14", "1.15"), how="shape of the CRDs", certainty="range")


def test_its_gates_are_known(table: Table) -> None:
    gates = "Foresight=false,Drift=true"
    assert controller.unread_gates(gates, release("1.15.0"), table=table) == ["Drift"]
    assert controller.unread_gates(gates, release("1.14.1"), table=table) == ["Foresight", "Drift"]


def test_a_new_patch_is_one_more_patch() -> None:
    row = replace(NEWEST, patches=(*NEWEST.patches, Patch("1.14.2", "2027-01-01")))
    table: tuple[MinorRelease, ...] = (*RELEASES[:-1], row)
    assert road(table, "1.14.1", kubernetes="1.30") == [("1.14", "1.14.2")]
