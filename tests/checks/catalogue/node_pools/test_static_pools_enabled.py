import pytest

from tests.builders.clusters import a_cluster, asked_hops, helm_values_of, remedies
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pools import AUTO_MODE, REFERENCE, a_pool, answer, found, parses, row, unseen_is_unknown

CHECK = "static_pools_enabled"
GOOD = ("pass", "The feature gate StaticCapacity is on where a NodePool needs it")
FIXED = {"spec.replicas": 3}


def v1(changes=None, *, gates: str = ""):
    env = {"FEATURE_GATES": gates} if gates else {}
    return a_cluster("1.8.2", kubernetes="1.33", env=env).with_docs(a_pool(changes))


def test_the_gate_is_open():
    assert answer(CHECK, NEWEST_MINOR, v1(FIXED, gates="StaticCapacity=true")) == GOOD


def test_a_flag_comes_before_the_variable():
    cluster = v1(FIXED, gates="StaticCapacity=false").with_flag("--feature-gates=StaticCapacity=true")
    assert answer(CHECK, NEWEST_MINOR, cluster) == GOOD


@pytest.mark.parametrize(("version", "status"), [("1.6.8", "pass"), ("1.8.2", "fail")])
def test_values_open_it_where_the_running_release_does_not_know_it(version, status):
    made = a_cluster(version, kubernetes="1.33").with_docs(a_pool(FIXED))
    values = {"settings": {"featureGates": {"staticCapacity": True}}}
    assert answer(CHECK, NEWEST_MINOR, made.with_values(values, version=version))[0] == status


@pytest.mark.parametrize("gates", ["", "StaticCapacity=false", "NodeOverlay=true"])
@pytest.mark.parametrize("replicas", [0, 3])
def test_it_is_not(gates, replicas):
    wanted = "StaticCapacity=true, or no replicas"
    cause = row("NodePool", "web", "spec.replicas", seen=f"{replicas}, StaticCapacity off", wanted=wanted)
    assert found(CHECK, NEWEST_MINOR, v1({"spec.replicas": replicas}, gates=gates)) == ("fail", (cause,))


@pytest.mark.parametrize("odd", ["3", [3], True])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", "NodePool web: spec.replicas is not a whole number")
    assert answer(CHECK, NEWEST_MINOR, v1({"spec.replicas": odd})) == told


@pytest.mark.parametrize("changes", [{}, FIXED | {REFERENCE: AUTO_MODE}])
def test_elsewhere_it_does_not_arise(changes):
    assert answer(CHECK, NEWEST_MINOR, v1(changes)) == (
        "not_applicable",
        "no NodePool sets spec.replicas",
    )
    assert asked_hops(CHECK)[0] == "1.8"


def test_unseen():
    unseen_is_unknown(CHECK, NEWEST_MINOR, version="1.8.2")


def test_the_remedy_opens_the_gate():
    given = remedies(CHECK, NEWEST_MINOR, v1(FIXED))
    assert set(parses(given)) == {"helm", "terraform", "flux", "argocd"}
    (helm,) = [one for one in given if one.how == "helm"]
    assert helm_values_of(helm) == {"settings.featureGates.staticCapacity": "true"}
