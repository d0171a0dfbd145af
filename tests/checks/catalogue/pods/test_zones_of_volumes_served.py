import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import node_class, pool
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import asked_hops, reads, remedies, result_of, result_without
from tests.builders.pods import NOTHING, OLD, OTHER, STAYS, is_shell, pods, rolling, still

CHECK = "zones_of_volumes_served"
GOOD = ("pass", "NodePools cover the zones of all volumes", ())
ZONE = "topology.kubernetes.io/zone"
CLAIM = [{"name": "c", "persistentVolumeClaim": {"claimName": "d"}}]


def zoned(*rows, zones=()):
    made = node_class("default", cluster="test", version="v1beta1")
    made["status"] = {"subnets": [{"id": f"subnet-{zone}", "zone": zone} for zone in zones]}
    return [pool("web", *rows, node_class="default", version="v1beta1"), made]


def with_claims(*docs):
    return rolling(*pods("StatefulSet", volumes=CLAIM, nodes=(OLD.node, OTHER.node), count=2), *docs)


def row(where: str, zone: str) -> Evidence:
    return Evidence(
        kind="StatefulSet", namespace="shop", name="web", path="spec.volumes", seen=f"claims in {zone}, on {where}",
        wanted="a NodePool that reaches the zone",
    )  # fmt: skip


@pytest.mark.parametrize(
    "docs",
    [
        zoned(),
        zoned((ZONE, "In", ("eu-central-1a", "eu-central-1b")), zones=("eu-central-1a", "eu-central-1b")),
        zoned((ZONE, "NotIn", ("eu-central-1c",))),
        zoned((ZONE, "Exists", ())),
    ],
)
def test_every_zone_is_reached(docs):
    assert result_of(CHECK, "0.33+", with_claims(*docs)) == GOOD


@pytest.mark.parametrize(
    "docs",
    [
        zoned((ZONE, "In", ("eu-central-1a",))),
        zoned(("failure-domain.beta.kubernetes.io/zone", "In", ("eu-central-1a",))),
        zoned((ZONE, "NotIn", ("eu-central-1b",))),
        zoned(zones=("eu-central-1a",)),
    ],
)
def test_a_zone_is_cut_off(docs):
    found = result_of(CHECK, "0.33+", with_claims(*docs))
    assert found == (
        "fail",
        "1 pod is pinned by its volume to a zone without a NodePool",
        (row(OTHER.node, "eu-central-1b"),),
    )


def volume(zone: str, *, namespace: str = "shop", key: str = ZONE):
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [zone]}]}] if zone else []
    spec = {"claimRef": {"namespace": namespace, "name": "d"}}
    spec |= {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return doc("v1", "PersistentVolume", metadata=meta(f"pv-{zone}-{namespace}"), spec=spec)


@pytest.mark.parametrize("key", [ZONE, "topology.ebs.csi.aws.com/zone"])
def test_a_volume_that_is_bound_to_the_zone(key):
    docs = zoned((ZONE, "In", ("eu-central-1a",)))
    cluster = with_claims(*docs, volume("eu-central-1b", key=key), volume(""))
    found = result_of(CHECK, "0.33+", cluster)
    assert found == (
        "fail",
        "1 pod is pinned by its volume to a zone without a NodePool",
        (row(OTHER.node, "eu-central-1b"),),
    )


@pytest.mark.parametrize("held", [volume(""), volume("eu-central-1a")])
def test_volumes_that_are_bound_to_no_zone_or_another_one_follow(held):
    docs = zoned((ZONE, "In", ("eu-central-1a",)))
    assert result_of(CHECK, "0.33+", with_claims(*docs, held)) == GOOD


def test_volumes_of_another_namespace_tell_nothing():
    docs = zoned((ZONE, "In", ("eu-central-1a",)))
    assert result_of(CHECK, "0.33+", with_claims(*docs, volume("", namespace="other")))[0] == "fail"


def test_pods_without_claims_go_anywhere():
    cluster = rolling(*pods("StatefulSet", nodes=(OTHER.node,)), *zoned((ZONE, "In", ("eu-central-1a",))))
    assert result_of(CHECK, "0.33+", cluster) == GOOD


def test_odd_pools_cut_nothing_off():
    docs = zoned()
    docs[0]["spec"]["template"]["spec"]["requirements"] = ["odd", {"key": ZONE}]
    docs[1]["status"] = {"subnets": "odd"}
    assert result_of(CHECK, "0.33+", with_claims(*docs)) == GOOD


def test_of_many_pods_on_both_kinds_of_nodes_the_count_is_a_bound():
    three = pods("StatefulSet", volumes=CLAIM, nodes=(OTHER.node, STAYS), count=3)
    cluster = rolling(*three, *zoned((ZONE, "In", ("eu-central-1a",))))
    assert (
        result_of(CHECK, "0.33+", cluster)[1] == "at least 1 pod is pinned by its volume to a zone without a NodePool"
    )


def test_it_does_not_arise():
    assert result_of(CHECK, "0.33+", still().with_docs(*zoned())) == NOTHING
    assert result_of(CHECK, "0.33+", with_claims())[0] == "not_applicable"
    assert asked_hops(CHECK) == ("0.33+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_at_the_volumes():
    (remedy,) = remedies(CHECK, "0.33+", with_claims(*zoned((ZONE, "In", ("eu-central-1a",)))))
    assert remedy.text.splitlines()[1] == "kubectl -n shop get pvc"
    assert is_shell(remedy.text)
