from migrations_app.karpenter import crds
from migrations_app.karpenter.crds import CRD_SETS

TRIO = ["nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"]


def test_eight_sets_with_one_storage_version_each() -> None:
    assert len(CRD_SETS) == len({row.name for row in CRD_SETS}) == 8
    stored = [sum(version.storage for version in crd.versions) for row in CRD_SETS for crd in row.crds]
    assert set(stored) == {1}


def test_what_pools_serve_and_store() -> None:
    pools = {row.name: row.crd(TRIO[0]) for row in CRD_SETS}
    found = {name: crd and (crd.served, crd.storage) for name, crd in pools.items()}
    assert found == {
        "alpha": None,
        "alpha_and_beta": (("v1beta1",), "v1beta1"),
        "beta": (("v1beta1",), "v1beta1"),
        "beta_storage_v1_served": (("v1", "v1beta1"), "v1beta1"),
        "v1_storage_beta_served": (("v1", "v1beta1"), "v1"),
        "v1": (("v1",), "v1"),
        "v1_overlay": (("v1",), "v1"),
        "v1_overlay_buffer": (("v1",), "v1"),
    }


def test_names_of_the_last_set() -> None:
    last = crds.find("v1_overlay_buffer")
    assert last is not None
    assert [crd.name for crd in last.crds] == [
        *TRIO,
        "nodeoverlays.karpenter.sh",
        "capacitybuffers.autoscaling.x-k8s.io",
    ]


def test_unknown_names() -> None:
    assert crds.find("gamma") is None
    assert CRD_SETS[0].crd("nodepools.karpenter.sh") is None
