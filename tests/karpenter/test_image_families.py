import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.node_pools import FAMILIES
from migrations_app.karpenter import release_facts as families
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.versions import release


def test_ends_name_known_families():
    assert {row.family for row in families.FAMILY_ENDS} <= set(FAMILIES.values())
    assert [families.family_end(name) for name in ("AL2023", "", "Custom")] == [None, None, None]
    assert families.family_end("AL2") == families.FAMILY_ENDS[0]


def test_patches_that_insist_are_in_the_tables():
    known = {patch for row in RELEASES for patch in row.releases}
    insisting = {str(patch) for patch in known if families.enforces_unregistered(patch)}
    assert {release(row.first) for row in families.UNREGISTERED_ENFORCED} <= known
    assert insisting >= {"1.0.0", "1.0.8", "1.1.0", "1.2.0", "1.2.1"}
    assert insisting & {"0.37.8", "1.0.9", "1.1.4", "1.2.2", "1.3.0"} == set()


@pytest.mark.parametrize(
    ("family", "told", "call"),
    [
        ("AL2", "x\n/etc/eks/bootstrap.sh test", "/etc/eks/bootstrap.sh"),
        ("Ubuntu", "/etc/eks/bootstrap.sh", "/etc/eks/bootstrap.sh"),
        ("AL2023", "nodeadm init -c x", "nodeadm init"),
        ("AL2023", "nodeadm init --skip run --config-source=file:///etc/own.yaml", "nodeadm init"),
        ("AL2023", "nodeadm init", ""),
        ("AL2023", "nodeadm init -c imds://user-data --skip run\ncurl -c file:///x", ""),
        ("AL2023", "nodeadm init; tar -c x", ""),
        ("AL2023", 'nodeadm init -c "imds://user-data"', ""),
        ("AL2023", "nodeadm init --help; nodeadm init -c x", "nodeadm init"),
        ("AL2023", "/etc/eks/bootstrap.sh", ""),
        ("Bottlerocket", "[settings]", ""),
        ("AL2", "", ""),
    ],
)
def test_user_data_that_starts_the_kubelet(family, told, call):
    assert families.starts_kubelet(family, told) == call


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("bottlerocket@v1.21.1", (1, 21, 1)),
        ("bottlerocket@1.22.0", (1, 22, 0)),
        ("bottlerocket@v1.19.2-29cc92cc", (1, 19, 2)),
        ("bottlerocket-aws-k8s-1.30-x86_64-v1.21.1-82691b51", (1, 21, 1)),
        ("bottlerocket-aws-k8s-1.30-nvidia-aarch64-v1.40.0-8a1b2c3d", (1, 40, 0)),
        ("bottlerocket@latest", None),
        ("own-image", None),
        ("", None),
    ],
)
def test_releases_of_bottlerocket(told, found):
    assert families.bottlerocket_version(told) == found


@given(st.text(max_size=60))
def test_no_text_crashes_it(told):
    found = families.bottlerocket_version(told)
    assert found is None or (len(found) == 3 and min(found) >= 0)


def test_a_family_that_came_after_v1():
    assert {row.family for row in families.FAMILY_STARTS} <= set(FAMILIES.values())
    assert families.family_start("Windows2025") == release("1.9.0")
    assert [families.family_start(name) for name in ("AL2", "Windows2022", "")] == [None, None, None]
