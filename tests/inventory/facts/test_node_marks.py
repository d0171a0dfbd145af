from migrations_app.inventory.facts.ownership import protected
from migrations_app.samples.karpenter_objects import Launched, claim
from tests.builders.clusters import a_cluster


def test_nodes_and_claims_that_ask_for_protection():
    documents = []
    for number, key in enumerate(("karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-consolidate", "example.com/a")):
        launched = Launched(pool="web", number=number, cluster="test", kubelet="v1.29.1")
        made, node = claim(launched, node_class="default", version="v1")
        node["metadata"]["annotations"] = {key: "true"}
        documents += [made, node]
    documents[0]["metadata"]["annotations"]["karpenter.sh/do-not-evict"] = "true"
    found = protected(a_cluster().with_docs(*documents).build())
    assert [(kind, sorted(marks)[0]) for kind, _, marks in found] == [
        ("Node", "karpenter.sh/do-not-disrupt"),
        ("Node", "karpenter.sh/do-not-consolidate"),
        ("NodeClaim", "karpenter.sh/do-not-evict"),
    ]
    assert found[0][1] == documents[1]["metadata"]["name"]
