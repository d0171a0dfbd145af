import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import claim, pool
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR
from tests.builders.patches import patch_words
from tests.builders.pods import OLD, STAYS, is_shell, pods

CHECK = "grace_period_spares_protected_pods"
GOOD = ("pass", "No NodePool ends protected pods by its grace period", ())
DISRUPT = {"karpenter.sh/do-not-disrupt": "true"}
PATH = "spec.template.spec.terminationGracePeriod"


def on_v1(*docs, limit: object = "1h"):
    more = {} if limit is None else {"terminationGracePeriod": limit}
    return a_cluster("1.3.3", kubernetes="1.30").with_docs(
        pool("web", node_class="default", version="v1", **more),
        *claim(OLD, node_class="default", version="v1"),
        *docs,
    )


def row(seen: str) -> Evidence:
    told_of = f"{seen}, against 1h of NodePool web, on {OLD.node}"
    return Evidence(
        kind="Deployment", namespace="shop", name="web", path=PATH, seen=told_of, wanted="longer, or agreed"
    )


@pytest.mark.parametrize(
    "docs",
    [
        [],
        pods(),
        pods(terminationGracePeriodSeconds=3600),
        pods(annotations=DISRUPT, nodes=(STAYS,)),
        pods("DaemonSet", terminationGracePeriodSeconds=7200),
    ],
)
def test_nobody_is_cut_short(docs):
    assert result_of(CHECK, NEWEST_MINOR, on_v1(*docs)) == GOOD


def test_a_pod_that_asks_to_be_left_alone():
    said = "1 pod is ended early by the grace period of its NodePool"
    assert result_of(CHECK, NEWEST_MINOR, on_v1(*pods(annotations=DISRUPT))) == (
        "fail", said, (row("karpenter.sh/do-not-disrupt"),),
    )  # fmt: skip


def test_a_pod_that_takes_longer():
    found = result_of(CHECK, NEWEST_MINOR, on_v1(*pods(terminationGracePeriodSeconds=3601)))
    assert found[2] == (row("3601 s of grace"),)


@pytest.mark.parametrize(
    ("value", "limit", "ended"),
    [("8h", "1h", True), ("30m", "1h", False), ("30m", "30m29s", True), ("30m", "30m30s", False), ("x", "1h", False)],
)
def test_a_duration_and_the_grace_period_after_it_count(value, limit, ended):
    timed = pods(annotations={"karpenter.sh/do-not-disrupt": value}, terminationGracePeriodSeconds=30)
    found = result_of(CHECK, NEWEST_MINOR, on_v1(*timed, limit=limit))[2]
    seen = f"karpenter.sh/do-not-disrupt for {value}, against {limit} of NodePool web, on {OLD.node}"
    assert [one.seen for one in found] == ([seen] if ended else [])


def test_before_1_12_a_duration_counts_for_nothing():
    timed = pods(annotations={"karpenter.sh/do-not-disrupt": "8h"})
    assert result_of(CHECK, "1.11", on_v1(*timed)) == GOOD


def test_of_pods_elsewhere_too_the_count_is_a_bound():
    three = pods(annotations=DISRUPT, nodes=(OLD.node, STAYS), count=3)
    assert (
        result_of(CHECK, NEWEST_MINOR, on_v1(*three))[1]
        == "at least 1 pod is ended early by the grace period of its NodePool"
    )


@pytest.mark.parametrize("limit", [None, "Never"])
def test_no_pool_has_one(limit):
    found = result_of(CHECK, NEWEST_MINOR, on_v1(*pods(annotations=DISRUPT), limit=limit))
    assert found == ("not_applicable", f"no NodePool sets {PATH}", ())


@pytest.mark.parametrize("limit", ["soon", 5, ["1h"]])
def test_odd_lengths_are_unknown(limit):
    assert result_of(CHECK, NEWEST_MINOR, on_v1(limit=limit)) == ("unknown", f"NodePool web: {PATH} cannot be read", ())


def test_it_is_asked_from_1_0_on():
    assert asked_hops(CHECK)[0] == "1.0"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, NEWEST_MINOR, on_v1(), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_raises_it():
    (remedy,) = remedies(CHECK, NEWEST_MINOR, on_v1(*pods(annotations=DISRUPT)))
    patch = patch_words(("/spec/template/spec/terminationGracePeriod", "1h", None))
    assert remedy.text.splitlines()[1:] == [f"kubectl patch nodepools.karpenter.sh web {patch}"]
    assert is_shell(remedy.text)
