"""A twin of a cluster that serves two versions converts as Karpenter does."""

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.rehearsals.assumptions import assumptions_of
from migrations_app.rehearsals.planning import UNNAMED
from migrations_app.rehearsals.play import Failure, set_up
from migrations_app.rehearsals.reading import read_objects
from migrations_app.samples.fleet import files, find

POOLS = "/apis/karpenter.sh/{}/nodepools"


def test_node_pools_are_answered_in_each_served_version():
    story = find("v1_beta_stored")
    api = open_bundle(dict(files(story)))
    inventory = collect(api, cluster="shop").inventory
    reading = read_objects(api, inventory)
    assumptions = assumptions_of(reading, inventory)
    assert "conversion_unplayed" not in {one.code for one in assumptions.unknown}
    stage = set_up(reading, assumptions.behaviour, identity=UNNAMED, failure=Failure())
    newer, older = (stage.twin.request("GET", POOLS.format(version)).document["items"] for version in ("v1", "v1beta1"))
    assert len(newer) == len(older) > 0
    for new, old in zip(newer, older, strict=True):
        inner = new["spec"]["template"]["spec"]
        assert (inner["expireAfter"], "expireAfter" in new["spec"]["disruption"]) == ("720h", False)
        assert old["spec"]["disruption"]["expireAfter"] == "720h"
        assert inner["nodeClassRef"]["group"] == "karpenter.k8s.aws"
        # no annotation keeps the reference of v1beta1, so kind and name are all that the webhook writes
        assert old["spec"]["template"]["spec"]["nodeClassRef"] == {"kind": "EC2NodeClass", "name": "default"}
