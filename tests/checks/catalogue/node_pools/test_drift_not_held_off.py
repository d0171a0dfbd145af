import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import a_cluster, an_empty_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.patches import patch_words

CHECK = "drift_not_held_off"
GOOD = ("pass", "No NodePool relies on drift being off", ())


def with_pool(gates: str | None, budgets: object = None, **labels: str):
    made = pool("web", ON_DEMAND, node_class="default", version="v1beta1")
    made["spec"]["disruption"]["budgets"] = budgets
    made["metadata"]["labels"] = labels
    return a_cluster(env={} if gates is None else {"FEATURE_GATES": gates}).with_docs(made)


HELD_OFF = (
    "fail",
    "1 NodePool starts to drift with the upgrade",
    (
        Evidence(
            kind="NodePool",
            name="web",
            path="spec.disruption.budgets",
            seen="drift is off by FEATURE_GATES, no budget of 0 nodes",
            wanted='a budget with nodes "0" until drift is wanted',
        ),
    ),
)


@pytest.mark.parametrize("gates", [None, "Drift=true", "SpotToSpotConsolidation=true,Drift=true"])
def test_drift_is_on_already(gates):
    assert result_of(CHECK, "1.0", with_pool(gates)) == GOOD


@pytest.mark.parametrize("gates", ["Drift=false", "SpotToSpotConsolidation=true"])
def test_drift_is_off_and_nothing_holds_it_back(gates):
    assert result_of(CHECK, "1.0", with_pool(gates)) == HELD_OFF


@pytest.mark.parametrize("budget", [{"nodes": "0"}, {"nodes": "0%"}, {"nodes": "0", "reasons": ["Drifted", "Empty"]}])
def test_a_budget_holds_it_back(budget):
    assert result_of(CHECK, "1.0", with_pool("Drift=false", [{"nodes": "10%"}, budget])) == GOOD


@pytest.mark.parametrize(
    "budgets",
    [
        [{"nodes": "1"}],
        [{"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}],
        [{"nodes": "0", "reasons": ["Empty"]}],
        ["odd"],
        "odd",
        {},
    ],
)
def test_other_budgets_do_not(budgets):
    assert result_of(CHECK, "1.0", with_pool("Drift=false", budgets)) == HELD_OFF


def test_before_0_33_it_is_too_early():
    found = result_of(CHECK, "1.0", a_cluster("0.32.10", kubernetes="1.28"))
    why = "0.32.10 has nodes replaced on the way; ask again on 0.33 to 0.37"
    assert found == ("not_applicable", why, ())


def test_an_unknown_release_is_unknown():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("unknown", "whether drift is on is not known: there is no Karpenter Deployment", ())


def test_it_is_asked_at_1_0_only():
    assert asked_hops(CHECK) == ("1.0",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


AT = "/spec/disruption/budgets"


def test_the_remedy_follows_the_manager_of_the_pool():
    by_hand = remedies(CHECK, "1.0", with_pool("Drift=false", [{"nodes": "3"}]))
    assert [one.how for one in by_hand] == ["kubectl"]
    own, held = [{"nodes": "3"}], [{"nodes": "3"}, {"nodes": "0"}]
    patch, back = patch_words((AT, own, held)), patch_words((AT, held, own))
    command = "kubectl patch nodepools.karpenter.sh web"
    assert by_hand[0].text.splitlines()[2:] == [
        "# To take it back once the new controller runs and nodes may drift:",
        f"# {command} {back}",
        f"{command} {patch}",
    ]
    labels = {"argocd.argoproj.io/instance": "pools"}
    by_argo = remedies(CHECK, "1.0", with_pool("Drift=false", **labels))
    assert [one.how for one in by_argo] == ["argocd", "kubectl"]
    told_where = "# In the source of the Argo CD Application (pools): of NodePool web set "
    hold = '\'{"spec":{"disruption":{"budgets":[{"nodes":"10%"},{"nodes":"0"}]}}}\''
    assert by_argo[0].text.splitlines() == [f"{told_where}{hold}", "# Then argocd app sync pools"]


def test_crds_that_know_no_budgets_come_first():
    old = a_cluster("0.33.12", env={"FEATURE_GATES": "Drift=false"}, kubernetes="1.28")
    made = pool("web", ON_DEMAND, node_class="default", version="v1beta1")
    told_first = "# 0.33.12 keeps no budgets: set it when the new CRDs are there, before the controller"
    assert told_first in remedies(CHECK, "1.0", old.with_docs(made))[0].text.splitlines()


def test_gates_taken_from_an_object_that_is_not_read():
    told_so = "containers[].env[FEATURE_GATES] is empty or taken from an object that is not read"
    assert result_of(CHECK, "1.0", with_pool(""))[:2] == ("unknown", told_so)
