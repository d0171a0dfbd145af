"""What NodePools launch instead of nodes of Provisioners, where they do not keep the defaults of these."""

from migrations_app.actions.targets.new_nodes import differences
from migrations_app.actions.targets.nodes import karpenter_nodes
from migrations_app.samples.karpenter_objects import AMD64, LARGE_ENOUGH, ON_DEMAND, claim, machine
from tests.builders.clusters import a_cluster
from tests.builders.pods import OLD
from tests.builders.pools import GONE, a_pool, a_provisioner, a_template

LINUX = ("kubernetes.io/os", "In", ("linux",))
WHOLE = (ON_DEMAND, AMD64, LINUX, LARGE_ENOUGH)
NEVER = {"spec.disruption.expireAfter": "Never"}
BY_CHECK = " (check pools_replace_provisioners_alike)"
ANY_TYPE = "no requirement on karpenter.k8s.aws/instance-category, karpenter.k8s.aws/instance-generation"


def told(*pools, old=None, node=None):
    """The differences for one node of the Provisioner web, or for that node."""
    node = node or machine(OLD, template="default")
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(old or a_provisioner(), a_template(), *pools, *node)
    inventory = cluster.build()
    return differences(inventory, karpenter_nodes(inventory))


def beta(changes=None, *rows, name="web"):
    return a_pool(changes, *rows, name=name, version="v1beta1")


def test_a_pool_that_keeps_every_default():
    assert told(beta(NEVER, *WHOLE)) == ()


def test_pools_that_differ_alike_are_one_text():
    wide = (ON_DEMAND, AMD64, LINUX)
    assert told(beta(NEVER, *WHOLE), beta(None, *wide, name="a"), beta(None, *wide, name="b")) == (
        f"new nodes of NodePools a, b may differ from the old ones: {ANY_TYPE}{BY_CHECK}",
    )


def test_another_disruption_than_that_of_the_provisioner():
    (line,) = told(beta(None, *WHOLE), old=a_provisioner({"spec.consolidation": GONE}))
    assert line == (
        "new nodes of NodePool web may differ from the old ones: "
        "spec.disruption.consolidationPolicy is WhenUnderutilized, not WhenEmpty, as the Provisioner had it; "
        f"spec.disruption.expireAfter is 720h, not Never, as the Provisioner had it{BY_CHECK}"
    )


def test_a_pool_that_goes_launches_nothing():
    going = {"metadata.deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert told(beta(NEVER, *WHOLE), beta(going, ON_DEMAND, name="a")) == ()


def test_nodes_of_nodepools_are_replaced_by_their_own_pool():
    assert told(beta(None, ON_DEMAND), node=claim(OLD, node_class="default", version="v1beta1")) == ()
