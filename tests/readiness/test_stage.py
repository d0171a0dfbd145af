"""Where a cluster stands."""

import msgspec
import pytest

from migrations_app.inventory.facts.ownership import ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, AWSNodeTemplate, Machine, NodePool, Provisioner, Workload
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.versions import release
from migrations_app.readiness.evaluate import current_hop_line
from migrations_app.readiness.stage import legacy, legacy_objects
from migrations_app.readiness.stage import stage_of as stage
from tests.builders.clusters import a_cluster


def crd(name, served=("v1alpha5",), storage=None, stored=None):
    versions = [{"name": v, "served": True, "storage": v == (storage or served[-1])} for v in served]
    body = {
        "metadata": {"name": name},
        "spec": {"versions": versions},
        "status": {"storedVersions": stored or [versions[-1]["name"]]},
    }
    return msgspec.convert(body, CRD)


def named(kind, name="x"):
    return msgspec.convert({"metadata": {"name": name}}, kind)


ALPHA = (crd("provisioners.karpenter.sh"), crd("machines.karpenter.sh"))
BETA = (crd("nodepools.karpenter.sh", ("v1beta1",)), crd("nodeclaims.karpenter.sh", ("v1beta1",)))
BOTH = (crd("nodepools.karpenter.sh", ("v1beta1", "v1"), "v1", ["v1beta1", "v1"]),)
ONLY_V1 = (crd("nodepools.karpenter.sh", ("v1",)),)
STORED = (crd("nodepools.karpenter.sh", ("v1",), "v1", ["v1beta1", "v1"]),)
CONTROLLER = (named(Workload, "karpenter"),)


def stage_of(crds, *, running="0.32.10", controller=CONTROLLER, **parts):
    empty = dict.fromkeys(
        ("provisioners", "awsnodetemplates", "machines", "nodepools", "ec2nodeclasses", "nodeclaims"), Seen()
    )
    found = DetectedRelease(release=release(running), certainty="exact") if running else DetectedRelease()
    given = empty | {"crds": Seen(crds), "controller": Seen(controller)} | parts
    return stage(Inventory(cluster="c", taken_at="", **given), found)


@pytest.mark.parametrize(
    ("crds", "parts", "wanted"),
    [
        ((), {"controller": ()}, "no_karpenter"),
        (ALPHA, {"provisioners": Seen((named(Provisioner),))}, "alpha"),
        (ALPHA, {}, "alpha"),
        (ALPHA + BETA, {"machines": Seen((named(Machine),)), "nodepools": Seen((named(NodePool),))}, "mixed"),
        (ALPHA + BETA, {"machines": Seen((named(Machine),))}, "alpha"),
        (ALPHA + BETA, {"nodepools": Seen((named(NodePool),))}, "beta"),
        (ALPHA + BETA, {"running": "0.31.4"}, "alpha"),
        (ALPHA + BETA, {"running": "0.32.10"}, "beta"),
        (ALPHA + BETA, {"running": "0.37.0"}, "beta"),
        (BETA, {"running": "0.37.0"}, "beta"),
        (BOTH, {"running": "1.0.14"}, "beta_v1"),
        (STORED, {"running": "1.1.9"}, "beta_v1"),
        (ONLY_V1, {"running": "1.4.0"}, "v1"),
        (ALPHA + ONLY_V1, {"running": "1.4.0", "nodepools": Seen((named(NodePool),))}, "v1"),
        ((), {}, "unknown"),
    ],
)
def test_the_stage_of_a_cluster(crds, parts, wanted):
    assert stage_of(crds, **parts) == wanted


@pytest.mark.parametrize("part", ["crds", "controller"])
def test_what_decides_was_not_read(part):
    inventory = Inventory(
        cluster="c", taken_at="", **{"crds": Seen(BETA), "controller": Seen(CONTROLLER)} | {part: Unseen("forbidden")}
    )
    assert stage(inventory, DetectedRelease()) == "unknown"


def test_alpha_objects_that_could_not_be_read_leave_the_stage_unknown():
    assert stage_of(ALPHA + BETA, machines=Unseen("forbidden"), nodepools=Seen((named(NodePool),))) == "unknown"


NOTHING_LEFT = {"Provisioner": 0, "AWSNodeTemplate": 0, "Machine": 0, "Node": 0}


@pytest.mark.parametrize(
    ("running", "at", "legacy", "wanted"),
    [
        ("0.32.10", "mixed", NOTHING_LEFT | {"Machine": 3}, ("0.32", "in_progress", 50)),
        ("0.32.10", "beta", NOTHING_LEFT, ("0.32", "done", 100)),
        ("0.37.8", "beta", NOTHING_LEFT, ("0.33+", "done", 100)),
        ("0.37.8", "beta_v1", NOTHING_LEFT, ("0.33+", "done", 100)),
        ("1.0.14", "beta_v1", NOTHING_LEFT, ("1.0", "in_progress", 50)),
        ("1.0.14", "beta_v1", NOTHING_LEFT | {"Node": None}, ("1.0", "needs_facts", 50)),
        ("1.4.0", "v1", NOTHING_LEFT, ("1.4", "done", 100)),
    ],
)
def test_the_hop_that_was_landed_on(running, at, legacy, wanted):
    found = DetectedRelease(release=release(running), certainty="exact")
    line = current_hop_line(found, at, legacy=legacy, by_owner={"karpenter_alpha": 1, "karpenter_beta": 1})
    assert (line.hop, line.verdict, line.done_percent) == wanted


def test_before_the_first_hop_nothing_was_landed_on():
    older = DetectedRelease(release=release("0.30.0"), certainty="exact")
    assert current_hop_line(older, "alpha", legacy=NOTHING_LEFT, by_owner={}) is None
    assert current_hop_line(DetectedRelease(), "unknown", legacy=NOTHING_LEFT, by_owner={}) is None


SET_ASIDE = Seen((), None, (UnparsableObject("Thing", "", "odd", "$.spec", "Expected `object`"),))


@pytest.mark.parametrize("part", ["crds", "controller"])
def test_a_crd_or_controller_that_was_set_aside_may_be_the_one_that_decides(part):
    whole = {"crds": (), "controller": ()}
    assert stage_of(**whole) == "no_karpenter"
    found = Inventory(cluster="c", taken_at="", **({name: Seen() for name in whole} | {part: SET_ASIDE}))
    assert stage(found, DetectedRelease()) == "unknown"


def test_an_alpha_object_that_was_set_aside_is_there():
    assert stage_of(ALPHA + BETA, machines=SET_ASIDE, nodepools=Seen((named(NodePool),))) == "mixed"
    assert stage_of(ALPHA + BETA, machines=SET_ASIDE) == "alpha"


def test_what_was_set_aside_is_still_left():
    cluster = a_cluster().quarantined("machines").quarantined("nodes").build()
    found = legacy(cluster, ownership(cluster))
    assert found == {"Provisioner": 0, "AWSNodeTemplate": 0, "Machine": 1, "Node": None}


def test_a_crd_that_does_not_say_what_is_stored_is_not_taken_for_converted():
    bare = msgspec.structs.replace(ONLY_V1[0], status=None)
    assert stage_of((bare,), running="1.4.0") == "unknown"


def held(kind, name):
    return msgspec.convert({"metadata": {"name": name, "uid": f"uid of {name}"}}, kind)


LEFT = {
    "provisioners": Seen((held(Provisioner, "old"),)),
    "awsnodetemplates": Seen((held(AWSNodeTemplate, "old"),)),
    "crds": Seen((held(CRD, "machines.karpenter.sh"), held(CRD, "nodepools.karpenter.sh"))),
}


def test_what_the_clean_up_deletes():
    found = legacy_objects(Inventory(cluster="c", taken_at="", **LEFT))
    assert [(one.kind, one.name, one.uid) for one in found] == [
        ("Provisioner", "old", "uid of old"),
        ("AWSNodeTemplate", "old", "uid of old"),
        ("CustomResourceDefinition", "machines.karpenter.sh", "uid of machines.karpenter.sh"),
    ]


@pytest.mark.parametrize("part", LEFT)
def test_what_it_deletes_is_unset_where_a_part_was_not_read(part):
    assert legacy_objects(Inventory(cluster="c", taken_at="", **LEFT | {part: Unseen("forbidden")})) is msgspec.UNSET
