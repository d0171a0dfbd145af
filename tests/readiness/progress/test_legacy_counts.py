"""What a scan left to do, from inventories of each generation."""

import msgspec
import pytest

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, Machine, NodeClaim
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from migrations_app.readiness.progress.legacy_counts import legacy_columns, legacy_counts
from migrations_app.readiness.report import NodeCounts
from migrations_app.readiness.stage import STORED_CRDS
from tests.builders.rows import a_report

DONE = {"karpenter.sh/stored-version-migrated": "true"}
LEGACY = {"Provisioner": 1, "AWSNodeTemplate": 1, "Machine": 2, "Node": 2}
OWNERS = {"karpenter_alpha": 2, "karpenter_beta": 3, "managed_node_group": 9}


def crds(*stored):
    return Seen(
        tuple(
            msgspec.convert({"metadata": {"name": name}, "status": {"storedVersions": list(stored)}}, CRD)
            for name in STORED_CRDS
        )
    )


def some(kind, *marks):
    return Seen(tuple(msgspec.convert({"metadata": {"name": "x", "annotations": one}}, kind) for one in marks))


def left(stage="mixed", *, legacy=LEGACY, **parts):
    given = {
        "crds": crds("v1beta1"), "machines": some(Machine, {}, {}), "nodeclaims": some(NodeClaim, {}, {}, {}),
        "nodepools": Seen(), "ec2nodeclasses": Seen(),
    }  # fmt: skip
    report = a_report(legacy=legacy)
    cluster = msgspec.structs.replace(report.cluster, stage=stage)
    report = msgspec.structs.replace(report, cluster=cluster, nodes=NodeCounts(14, OWNERS))
    return dict(legacy_counts(Inventory(cluster="c", taken_at="", **(given | parts)), report))


def test_half_way_from_alpha():
    assert left() == {
        "stored_versions": 3, "claims": 5, "objects_total": 7, "nodes_total": 5, "stored_versions_total": 3,
        "claims_total": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stored", "marks", "wanted"),
    [
        (("v1beta1",), ({}, {}), (3, 2, 2)),
        (("v1beta1", "v1"), (DONE, {}), (3, 1, 2)),
        (("v1beta1", "v1"), (DONE, DONE), (3, 0, 2)),
        (("v1",), ({}, {}), (0, 0, 2)),
    ],
)
def test_a_claim_is_done_once_it_is_stored_as_v1(stored, marks, wanted):
    found = left("beta_v1", machines=Seen(), crds=crds(*stored), nodeclaims=some(NodeClaim, *marks))
    assert (found["stored_versions"], found["claims"], found["claims_total"]) == wanted


def test_crds_that_are_not_installed_yet_are_to_do():
    assert left("alpha", crds=Seen(), nodeclaims=Seen())["stored_versions"] == 3


def test_without_karpenter_there_is_nothing_to_do():
    assert set(left("no_karpenter").values()) == {0}


@pytest.mark.parametrize(
    ("parts", "unknown"),
    [
        ({"crds": Unseen("forbidden")}, {"stored_versions", "stored_versions_total", "claims"}),
        ({"machines": Unseen("forbidden")}, {"claims", "claims_total"}),
        ({"nodeclaims": Unseen("forbidden")}, {"claims", "claims_total", "objects_total"}),
        ({"nodepools": Unseen("forbidden")}, {"objects_total"}),
        ({"legacy": LEGACY | {"Node": None}}, {"nodes_total"}),
        ({"legacy": LEGACY | {"Machine": None}}, {"objects_total"}),
    ],
)
def test_what_was_not_read_is_not_counted(parts, unknown):
    assert {name for name, count in left(**parts).items() if count is None} == unknown


def test_a_claim_that_was_set_aside_is_left():
    broken = UnparsableObject("NodeClaim", "", "y", "$.spec", "odd")
    found = left(nodeclaims=Seen(some(NodeClaim, DONE).items, quarantined=(broken,)))
    assert (found["claims"], found["claims_total"]) == (3, 4)


def test_an_unknown_stage_gives_no_stored_versions():
    found = left("unknown")
    assert (found["stored_versions"], found["stored_versions_total"]) == (None, None)


def test_the_legacy_counts_by_column():
    wanted = {"provisioners": 1, "templates": 1, "machines": 2, "nodes": None}
    assert legacy_columns(a_report(legacy=LEGACY | {"Node": None})) == wanted
    assert legacy_columns(a_report(legacy={})) == dict.fromkeys(wanted, 0)
