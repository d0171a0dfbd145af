import json
import shlex

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.karpenter.releases import HASH_CHANGES, RELEASES, change_to, number
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, node_class, pool
from tests.builders.clusters import a_cluster, an_empty_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR
from tests.builders.patches import operations, patch_words

CHECK = "hashes_carry_over"
GOOD = ("pass", "No node drifts because its hash version changes", ())
POOL, CLASS = "karpenter.sh/nodepool-hash-version", "karpenter.k8s.aws/ec2nodeclass-hash-version"


def hashed(version: str = "0.37.8", *, here: tuple = ("v2", "v2"), claims: tuple = (), drifted: int = 0, **more):
    """A pool and a class with these hash versions, and a claim for each pair."""
    docs = [
        pool("general", ON_DEMAND, node_class="default", version="v1"),
        node_class("default", cluster="test", version="v1"),
    ]
    for doc, key, value in zip(docs, (POOL, CLASS), here, strict=True):
        doc["metadata"]["annotations"] = {key: value} if value else {}
    for place, pair in enumerate(claims):
        notes = {key: value for key, value in zip((POOL, CLASS), pair, strict=True) if value}
        launched = Launched(pool="general", number=place, cluster="test", kubelet="v1")
        made = claim(launched, node_class="default", version="v1")[0]
        made["metadata"]["annotations"] = notes
        if place < drifted:
            made["status"]["conditions"].append({"type": "Drifted", "status": "True"})
        docs.append(made)
    return a_cluster(version, **more).with_docs(*docs)


def a_row(kind: str, name: str, *, seen: str, wanted: str, count: int = 1) -> Evidence:
    path = f"metadata.annotations[{POOL if kind == 'NodePool' else CLASS}]"
    return Evidence(kind=kind, name=name, path=path, seen=seen, wanted=wanted, count=count)


def test_settled_hashes_are_carried_over():
    assert result_of(CHECK, "1.0", hashed(claims=(("v2", "v2"),) * 3)) == GOOD


def test_claims_behind_their_pool():
    late = "drift is not judged until they agree"
    rows = (
        a_row("NodePool", "general", seen=f"claims at v1: {late}", wanted="all at v2", count=2),
        a_row("EC2NodeClass", "default", seen=f"claims at none: {late}", wanted="all at v2"),
    )
    found = result_of(CHECK, "1.0", hashed(claims=(("v1", "v2"), ("v1", None), ("v2", "v2"))))
    assert found == ("fail", "3 nodes would drift, or their hash is unknown", rows)


def test_what_has_drifted_stays_drifted():
    seen = "have drifted: replaced whatever the new hash says"
    rows = (a_row("NodePool", "general", seen=seen, wanted="replaced before the upgrade", count=2),)
    found = result_of(CHECK, "1.0", hashed(claims=(("v2", "v2"),) * 3, drifted=2))
    assert found == ("fail", "2 nodes would drift, or their hash is unknown", rows)


def test_the_ca_bundle_comes_in_with_1_12():
    cluster = hashed("1.11.2", here=("v3", "v4"), claims=(("v3", "v4"),) * 4, kubernetes="1.33")
    seen = "the CA bundle of the cluster is part of the hash: the guide expects every node to drift"
    rows = (a_row("EC2NodeClass", "default", seen=seen, wanted="a window, and budgets that pace it", count=4),)
    found = finding_of(CHECK, NEWEST_MINOR, cluster)
    assert (found.status, found.severity, found.evidence) == ("fail", "warning", rows)
    settled = hashed("1.13.1", here=("v3", "v5"), claims=(("v3", "v5"),), kubernetes="1.34")
    assert result_of(CHECK, NEWEST_MINOR, settled) == GOOD


def test_a_pool_without_a_version_leaves_it_open():
    why = "NodePool general: metadata.annotations[karpenter.sh/nodepool-hash-version] is absent"
    assert result_of(CHECK, "1.0", hashed(here=(None, "v2"))) == ("unknown", why, ())


def test_without_pools_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no NodePool and no EC2NodeClass yet", ())


def test_an_unknown_release_leaves_it_open():
    cluster = hashed().without("controller")
    assert result_of(CHECK, "1.0", cluster, start="0.37.8")[:2] == (
        "unknown",
        "which hashes the running release writes is not known: there is no Karpenter Deployment",
    )


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_every_version_of_the_release_rows_has_a_row_of_its_own():
    written = {
        (place, since.value)
        for row in RELEASES
        for place, versions in enumerate((row.nodepool_hash, row.nodeclass_hash))
        for since in versions
        if since.value
    }
    told_of = {((POOL, CLASS).index(row.annotation), row.version) for row in HASH_CHANGES}
    assert told_of == written


def test_rows_are_found_by_version():
    assert change_to(POOL, "v3").first == "1.0"
    assert change_to(POOL, "v99") is None
    assert [number(text) for text in (None, "", "v2", "v12", "x", "v", "v٣", "v123456")] == [0, 0, 2, 12] + [None] * 4


PATCH, AT = "kubectl patch nodepools.karpenter.sh general ", "/spec/disruption/budgets"
OWN, HELD = [{"nodes": "10%"}], [{"nodes": "10%"}, {"nodes": "0"}]


def lines_of(cluster, hop: str = "1.0") -> list[str]:
    return remedies(CHECK, hop, cluster)[0].text.splitlines()


def test_before_1_0_the_remedy_holds_everything_beside_the_pools_own_budgets():
    lines = lines_of(hashed(claims=(("v1", "v2"),)))
    assert [line for line in lines if not line.startswith("#")] == [
        PATCH + patch_words((AT, OWN, HELD)),
        "kubectl get nodeclaims.karpenter.sh -o wide",
    ]
    assert lines[3] == "# " + PATCH + patch_words((AT, HELD, OWN))


def rolled(budgets: object):
    cluster = hashed("1.11.2", here=("v3", "v4"), claims=(("v3", "v4"),), kubernetes="1.33")
    held = pool("night", ON_DEMAND, node_class="default", version="v1")
    held["spec"]["disruption"]["budgets"] = budgets
    return cluster.with_docs(held)


def test_from_1_0_on_drift_alone_is_held_and_what_is_there_stays():
    own = [{"nodes": "1"}, {"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}]
    lines = lines_of(rolled(own), NEWEST_MINOR)
    (mine,) = [line for line in lines if line.startswith("kubectl patch") and " night " in line]
    (back,) = [line for line in lines if line.startswith("# kubectl patch") and " night " in line]
    hold = {"nodes": "0", "reasons": ["Drifted"]}
    assert json.loads(shlex.split(mine)[-1]) == operations((AT, own, [*own, hold]))
    assert json.loads(shlex.split(back.removeprefix("# "))[-1]) == operations((AT, [*own, hold], own))


def test_a_pool_that_holds_drift_already_is_left_alone():
    lines = lines_of(rolled([{"nodes": "0", "reasons": ["Drifted"]}]), NEWEST_MINOR)
    assert [line for line in lines if " night " in line] == []
    assert [line for line in lines if PATCH in line] != []
