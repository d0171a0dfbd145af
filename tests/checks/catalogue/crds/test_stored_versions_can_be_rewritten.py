import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    helm_crds,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "stored_versions_can_be_rewritten"
DONE = "karpenter.sh/stored-version-migrated"
NONE = ("not_applicable", "nothing but v1 is stored", ())


def storing(version: str = "1.0.14", *, stored: tuple[str, ...] = ("v1beta1", "v1"), done: tuple = (), **install):
    pools = [pool(f"p{place}", ON_DEMAND, node_class="default", version="v1") for place in range(len(done))]
    for one, value in zip(pools, done, strict=True):
        one["metadata"]["annotations"] = {DONE: value} if value else {}
    made = a_cluster(version, kubernetes="1.30", **install).without("crds")
    return made.with_docs(*helm_crds(version, stored=stored), *pools)


def at_deployment(path: str, seen: str, wanted: str) -> Evidence:
    path = f"spec.template.spec.containers[].{path}"
    return Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted)


def test_the_controller_is_able_and_has_done_it():
    found = result_of(CHECK, "1.1+", storing(done=("true", "true")))
    assert found == ("pass", "The controller rewrites all stored objects to v1", ())


def test_an_older_patch_rewrites_nothing():
    row = at_deployment("image", "1.0.5", "1.0.6 or a later patch of 1.0")
    found = result_of(CHECK, "1.1+", storing("1.0.5"))
    assert found == ("fail", "1 obstacle to storing all objects as v1", (row,))


def test_without_webhooks_nothing_is_rewritten():
    row = at_deployment("env[DISABLE_WEBHOOK]", "true", "false")
    found = result_of(CHECK, "1.1+", storing(env={"DISABLE_WEBHOOK": "true"}))
    assert found == ("fail", "1 obstacle to storing all objects as v1", (row,))


def test_crds_that_store_beta():
    cluster = storing().without("crds").with_docs(*helm_crds("0.37.8"))
    _, summary, rows = result_of(CHECK, "1.1+", cluster)
    assert summary == "3 obstacles to storing all objects as v1"
    assert {(row.path, row.seen, row.wanted) for row in rows} == {
        ("spec.versions[].storage", "v1beta1 is stored", "v1")
    }


def test_what_is_left_is_counted():
    row = Evidence(
        kind="NodePool",
        name="p1",
        path=f"metadata.annotations[{DONE}]",
        seen="2 of 3 not rewritten yet",
        wanted="true on all",
        count=2,
    )
    found = result_of(CHECK, "1.1+", storing(done=("true", None, "false")))
    assert found == ("fail", "2 obstacles to storing all objects as v1", (row,))


def test_nothing_but_v1_is_stored():
    assert result_of(CHECK, "1.1+", storing(stored=("v1",))) == NONE
    assert result_of(CHECK, "1.1+", an_empty_cluster(), start="1.0.14") == NONE


def test_before_1_0_runs_there_is_nothing_to_ask():
    status, why, _ = result_of(CHECK, "1.1+", a_cluster())
    assert (status, why.partition(" ")[2]) == ("not_applicable", "will rewrite them, which does not run yet")


def test_without_a_controller_it_is_open():
    found = result_of(CHECK, "1.1+", storing().without("controller"), start="1.0.14")
    assert found[0] == "unknown"


def test_it_is_asked_where_beta_ends():
    assert asked_hops(CHECK) == ("1.1+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", storing(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_the_newest_patch():
    first = remedies(CHECK, "1.1+", storing("1.0.5"))[0]
    assert (first.how, helm_values_of(first, when="before", version="1.0.14")) == ("helm", {"webhook.enabled": "true"})
