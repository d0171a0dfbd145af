import pytest

from migrations_app.iam.requirements.features import NODE_NEEDS, needs_unmet
from tests import upstream

WORKER, PULL, READ = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEC2ContainerRegistryReadOnly",
)
CNI = "AmazonEKS_CNI_Policy"


@pytest.mark.parametrize(
    ("attached", "unmet"),
    [
        ((WORKER, PULL, CNI), []),
        ((WORKER, READ, CNI, "AmazonSSMManagedInstanceCore"), []),
        ((WORKER, READ, "AmazonEKS_CNI_IPv6_Policy"), []),
        (("AdministratorAccess",), []),
        ((WORKER, READ), [CNI]),
        ((READ, CNI), [WORKER]),
        ((), [WORKER, PULL, CNI]),
    ],
)
def test_what_no_attached_policy_meets(attached, unmet):
    assert [need.policies[0] for need in needs_unmet(attached)] == unmet


def test_only_the_network_plugin_may_be_served_elsewhere():
    assert [need.policies[0] for need in NODE_NEEDS if not need.sure] == [CNI]


def test_the_table_holds_every_policy_that_a_node_role_needs():
    known = {name for need in NODE_NEEDS for name in need.policies}
    told = {row.name for row in upstream.permissions().node_policies if row.required is not False}
    assert told <= known
