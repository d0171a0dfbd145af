import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pools import AUTO_MODE, REFERENCE, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "pool_keys_accepted"
GOOD = ("pass", "The API accepts every label and requirement key")
LABELS = "spec.template.metadata.labels"
REQUIREMENTS = "spec.template.spec.requirements"


def beta(changes=None, *rows):
    return at("0.37.8", a_pool(changes, *rows, version="v1beta1"))


@pytest.mark.parametrize(
    "key",
    ["team", "example.com/tier", "kubernetes.io/arch", "karpenter.k8s.aws/instance-cpu", "node.kubernetes.io/own"],
)
def test_keys_that_are_open(key):
    assert answer(CHECK, "1.0", beta({LABELS: {key: "x"}}, (key, "In", ("x",)))) == GOOD


@pytest.mark.parametrize(
    "key",
    [
        "karpenter.sh/provisioner-name",
        "karpenter.sh/nodepool",
        "karpenter.k8s.aws/instance-pods",
        "kubernetes.io/hostname",
        "app.k8s.io/own",
    ],
)
def test_keys_that_are_not(key):
    causes = (
        row("NodePool", "web", f"{LABELS}[{key}]", seen=key, wanted="absent"),
        row("NodePool", "web", f"{REQUIREMENTS}[0].key", seen=f"{key} In", wanted="absent"),
    )
    assert found(CHECK, "1.0", beta({LABELS: {key: "x"}}, (key, "In", ("x",)))) == ("fail", causes)


def test_keys_that_a_later_release_opens():
    rows = [
        ("karpenter.k8s.aws/instance-tenancy", "In", ("default",)),
        ("karpenter.k8s.aws/instance-cpu", "Gte", ("4",)),
    ]
    newer = at("1.8.2", a_pool(None, *rows), kubernetes="1.33")
    assert answer(CHECK, NEWEST_MINOR, newer) == GOOD
    status, causes = found(CHECK, "1.1+", at("1.0.14", a_pool(None, rows[0])))
    assert (status, [one.path for one in causes]) == ("fail", [f"{REQUIREMENTS}[0].key"])


@pytest.mark.parametrize(
    ("path", "odd", "words"),
    [
        (LABELS, ["team"], f"{LABELS} is not a map of texts"),
        (LABELS, {"team": 7}, f"{LABELS} is not a map of texts"),
        (REQUIREMENTS, {}, f"{REQUIREMENTS} is not a list of maps"),
        (REQUIREMENTS, [{"operator": "In"}], f"{REQUIREMENTS}[0].key is no text"),
        (REQUIREMENTS, [{"key": 7}], f"{REQUIREMENTS}[0].key is no text"),
        (REQUIREMENTS, [{"key": "team", "operator": "Near"}], f"{REQUIREMENTS}[0].operator Near is not known"),
        (REQUIREMENTS, [{"key": "team"}], f"{REQUIREMENTS}[0].operator None is not known"),
    ],
)
def test_odd_values_are_unknown_by_their_field(path, odd, words):
    assert answer(CHECK, "1.0", beta({path: odd})) == ("unknown", f"NodePool web: {words}")


def test_pools_of_auto_mode_are_not_asked_about():
    own = ("eks.amazonaws.com/instance-category", "In", ("c",))
    cluster = at("1.0.14", a_pool({REFERENCE: AUTO_MODE, LABELS: {"karpenter.sh/nodepool": "x"}}, own))
    assert answer(CHECK, "1.1+", cluster) == ("not_applicable", "there is no NodePool of Karpenter's own yet")
    assert asked_hops(CHECK)[0] == "0.33+"


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy():
    given = remedies(CHECK, "1.0", beta({LABELS: {"karpenter.sh/nodepool": "x"}}))
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit nodepools.karpenter.sh web  # {LABELS}[karpenter.sh/nodepool]; absent"
    assert given[0].text.splitlines()[1:] == [edit]
