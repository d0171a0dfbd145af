import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.iam.requirements.features import every_minor
from migrations_app.inventory.aws_facts.instances import (
    LISTED_BY,
    all_have_cluster_name,
    claimed_ids,
    every_tag,
    first_ids,
    first_missing_tag,
    is_kept_tag,
    owner_of,
    tags_at_hop,
    tags_text,
    without_claim,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.samples.karpenter_objects import Launched, claim, machine
from tests.builders.aws import alpha, beta, instances, v1
from tests.builders.clusters import an_empty_cluster

POOL, CLASS, NAME = (key for key, _ in LISTED_BY)


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("karpenter.sh/nodepool", True),
        ("karpenter.k8s.aws/ec2nodeclass", True),
        ("kubernetes.io/cluster/shop", True),
        ("eks:eks-cluster-name", True),
        ("karpenter.sh/nodeclaim", False),
        ("Name", False),
        ("team", False),
    ],
)
def test_tags_that_are_kept(key, kept):
    assert is_kept_tag(key) is kept


def test_groups_are_told_in_a_line():
    group = TaggedInstances(tags=(("a", "1"), ("b", "")), count=4, samples=("i-1", "i-2", "i-3"))
    assert (tags_text(group), first_ids(group)) == ("a=1 b=", "i-1 i-2 i-3 ...")
    assert first_ids(alpha()) == "i-1 i-2"
    assert [owner_of(one) for one in (alpha(), beta(), instances({}))] == [
        "Provisioner web",
        "NodePool web",
        "Provisioner ",
    ]


@pytest.mark.parametrize(
    ("running", "start", "end", "asked"),
    [
        ((0, 31), (0, 31), (0, 32), ()),
        ((0, 32), (0, 32), (0, 33), (POOL,)),
        ((0, 32), (0, 32), (0, 37), (POOL, CLASS)),
        ((0, 32), (0, 37), (1, 0), ()),
        ((0, 33), (0, 33), (1, 0), (POOL, CLASS)),
        ((0, 37), (1, 0), (1, 1), (POOL, CLASS)),
        ((1, 0), (1, 0), (1, 1), (POOL, CLASS, NAME)),
        ((1, 4), (1, 4), (1, 14), (POOL, CLASS, NAME)),
        (None, (1, 0), (1, 1), ()),
    ],
)
def test_tags_are_asked_for_where_a_hop_brings_them(running, start, end, asked):
    assert tags_at_hop(running, start=start, end=end) == asked


@given(st.lists(st.sampled_from(every_minor()), min_size=3, max_size=3).map(sorted))
def test_no_tag_is_asked_for_before_a_release_lists_by_it(minors):
    running, start, end = minors
    assert set(tags_at_hop(running, start=start, end=end)) <= set(every_tag(end))


@pytest.mark.parametrize(
    ("group", "keys", "found"),
    [
        (v1(), (POOL, CLASS, NAME), None),
        (alpha(), (), None),
        (alpha(), (POOL, CLASS), (POOL, "absent", "any value")),
        (beta(), (POOL, NAME), (NAME, "absent", "test")),
        (v1(cluster="other"), (NAME,), (NAME, "other", "test")),
        (instances({POOL: ""}), (POOL, CLASS), (CLASS, "absent", "any value")),
    ],
)
def test_the_first_tag_that_a_group_lacks(group, keys, found):
    assert first_missing_tag(group, keys, cluster="test") == found


def with_groups(*groups) -> Inventory:
    return an_empty_cluster().with_aws(instances=groups).build()


@pytest.mark.parametrize(
    ("groups", "named"),
    [((v1(),), True), ((v1(), beta()), False), ((v1(cluster="x"),), False), ((), None), ((alpha(),), None)],
)
def test_whether_all_carry_the_name_of_the_cluster(groups, named):
    assert all_have_cluster_name(with_groups(*groups).aws) is named


def test_instances_without_a_claim():
    group = instances({}, count=9)
    found = [without_claim(group, frozenset(ids)) for ids in ((), ("i-1",), ("i-1", "i-2"), ("i-9",))]
    assert found == [9, 1, 0, 2]


def test_ids_behind_claims_of_both_generations():
    one, two = (Launched(pool=pool, number=1, cluster="test", kubelet="v1.28.4") for pool in ("a", "b"))
    docs = [*machine(one, template="default"), *claim(two, node_class="default", version="v1beta1")]
    inventory = an_empty_cluster().with_docs(*docs).build()
    assert claimed_ids(inventory) == {each.provider_id.rpartition("/")[2] for each in (one, two)}
