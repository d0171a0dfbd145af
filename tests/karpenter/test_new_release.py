"""A minor of tomorrow is one more row: nothing else has to know about it."""

from dataclasses import replace

import pytest

from migrations_app.karpenter import controller_settings, releases
from migrations_app.karpenter.detection import CrdSeen, DetectedRelease, ReleaseEvidence, detect
from migrations_app.karpenter.releases import RELEASES, Table
from migrations_app.karpenter.table_types import BadPatch, FeatureGate, Patch, Since, SupportedKubernetes
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST, NEWEST_MINOR, NEWEST_ROW, NEXT_MINOR, following

LOWEST, HIGHEST = NEWEST_ROW.kubernetes[-1].value


def kubernetes(past: int) -> str:
    """The Kubernetes minor so many after the newest that the newest release supports."""
    major, number = map(int, HIGHEST.split("."))
    return f"{major}.{number + past}"


IMAGINARY = following(
    NEWEST_ROW,
    patches=3,
    kubernetes=(Since(f"{NEXT_MINOR}.0", SupportedKubernetes(kubernetes(-3), kubernetes(2))),),
    gates=(*NEWEST_ROW.gates, FeatureGate("Foresight", default=True)),
    bad=(BadPatch(f"{NEXT_MINOR}.2", f"{NEXT_MINOR}.2", "forgets its nodes", f"{NEXT_MINOR}.3"),),
)
NEXT = f"{NEXT_MINOR}.1"
"""Its newest good patch."""


@pytest.fixture
def table() -> Table:
    return (*RELEASES, IMAGINARY)


def road(table: Table, current: str, **wanted: str) -> list[tuple[str, str]]:
    return [(hop.name, str(hop.release)) for hop in path(current, table=table, **wanted).hops]


def test_it_is_the_default_target_at_its_newest_good_patch(table: Table) -> None:
    assert str(releases.newest(table=table)) == NEXT
    assert road(table, "1.1.10", kubernetes=HIGHEST) == [(NEXT_MINOR, NEXT)]
    assert road(table, "1.1.10", target=NEXT_MINOR, kubernetes=HIGHEST) == [(NEXT_MINOR, NEXT)]


def test_kubernetes_windows_that_do_not_touch_force_a_stop(table: Table) -> None:
    hops = path("1.1.10", kubernetes="1.31", table=table).hops
    assert [(hop.name, str(hop.release)) for hop in hops] == [(NEWEST_MINOR, NEWEST), (NEXT_MINOR, NEXT)]
    assert [hop.kubernetes_change for hop in hops] == [
        "",
        f"Before this step raise Kubernetes from 1.31 to {kubernetes(-3)}; up to {HIGHEST} fits both releases",
    ]


def test_windows_far_apart_force_as_many_stops_as_it_takes(table: Table) -> None:
    far = following(IMAGINARY, gates=(), bad=())
    far = replace(far, kubernetes=(Since(far.patches[0].version, SupportedKubernetes(kubernetes(2), kubernetes(6))),))
    stops = road((*table, far), "1.1.10", kubernetes="1.31")
    assert stops == [(NEWEST_MINOR, NEWEST), (NEXT_MINOR, NEXT), (far.minor, str(far.newest))]


def test_where_nothing_lies_between_both_are_raised_together() -> None:
    gap = (releases.row_of(release("1.1.0")), IMAGINARY)
    (hop,) = path("1.1.10", kubernetes="1.31", table=gap).hops
    assert hop.kubernetes_change == (
        f"Raise Kubernetes from 1.31 to {kubernetes(-3)} together with this step: "
        f"1.1.10 supports no more than 1.31, {NEXT} no less than {kubernetes(-3)}"
    )


def test_its_bad_patch_and_its_rollback(table: Table) -> None:
    bad = release(f"{NEXT_MINOR}.2")
    assert [row.why for row in releases.bad_reasons(bad, table=table)] == ["forgets its nodes"]
    (hop,) = path(NEWEST, kubernetes=HIGHEST, table=table).hops
    assert hop.rollback_to == (release(NEWEST),)


def test_it_is_detected_by_shape(table: Table) -> None:
    shipped = releases.crd_set(release(NEXT), table=table)
    assert shipped is not None
    crds = {crd.name: CrdSeen(crd.served, crd.storage) for crd in shipped.crds}
    found = detect(ReleaseEvidence(crds=crds), table=table)
    alike = tuple(row.minor for row in table if row.crds[-1].value == shipped.name)
    assert found == DetectedRelease(minors=alike, how="shape of the CRDs", certainty="range")
    assert alike[-1] == NEXT_MINOR


def test_its_gates_are_known(table: Table) -> None:
    gates = "Foresight=false,Drift=true"
    assert controller_settings.unread_gates(gates, release(NEXT), table=table) == ["Drift"]
    assert controller_settings.unread_gates(gates, release(NEWEST), table=table) == ["Foresight", "Drift"]


def test_a_new_patch_is_one_more_patch() -> None:
    patch = f"{NEWEST_MINOR}.{NEWEST_ROW.newest.patch + 1}"
    row = replace(NEWEST_ROW, patches=(*NEWEST_ROW.patches, Patch(patch, "2027-01-01")))
    assert road((*RELEASES[:-1], row), NEWEST, kubernetes="1.30") == [(NEWEST_MINOR, patch)]
