from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import KINDS


def test_no_kind_twice() -> None:
    assert (
        len({(row.group, row.kind) for row in KINDS}) == len({(row.group, row.plural) for row in KINDS}) == len(KINDS)
    )


def test_alpha_kinds_have_successors() -> None:
    found = {row.kind: (kinds.successor(row) or row).kind for row in kinds.ALPHA_KINDS}
    assert found == {"Provisioner": "NodePool", "AWSNodeTemplate": "EC2NodeClass", "Machine": "NodeClaim"}
    assert [kinds.successor(row) for row in kinds.CURRENT_KINDS] == [None, None, None]


def test_finds_by_group() -> None:
    assert kinds.find("NodeClass", group="eks.amazonaws.com") is kinds.AUTO_MODE_NODE_CLASS
    assert kinds.find("NodeClass", group="compute.k8s.aws") is kinds.DRAFT_NODE_CLASS
    assert kinds.find("NodePool") is kinds.NODE_POOL
    assert kinds.find("NodePool", group="example.org") is None


def test_api_versions() -> None:
    assert kinds.NODE_POOL.api_versions == ("karpenter.sh/v1", "karpenter.sh/v1beta1")
    assert kinds.POD.api_versions == ("v1",)


def test_generation_of_an_object() -> None:
    assert kinds.PROVISIONER.generation_of("v1alpha5") == "alpha"
    assert [kinds.NODE_POOL.generation_of(version) for version in ("v1beta1", "v1", "v2")] == ["beta", "v1", ""]
    assert kinds.DEPLOYMENT.generation_of("v1") == ""
