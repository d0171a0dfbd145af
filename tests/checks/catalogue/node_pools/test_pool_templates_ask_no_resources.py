import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "pool_templates_ask_no_resources"
PATH = "spec.template.spec.resources"
ASKED = {"requests": {"cpu": "1"}}


def beta(resources=None):
    return at("0.37.8", a_pool({PATH: resources}, version="v1beta1"))


@pytest.mark.parametrize("nothing", [None, {}, {"requests": {}}])
def test_nothing_is_asked_for(nothing):
    assert answer(CHECK, "1.0", beta(nothing)) == ("pass", "No NodePool template has resources")


def test_resources_are_asked_for():
    cause = row("NodePool", "web", PATH, seen='{"requests": {"cpu": "1"}}', wanted="absent")
    assert found(CHECK, "1.0", beta(ASKED)) == ("fail", (cause,))


@pytest.mark.parametrize("odd", ["1", ["cpu"]])
def test_odd_values_are_unknown_by_their_field(odd):
    assert answer(CHECK, "1.0", beta(odd)) == ("unknown", f"NodePool web: {PATH} is not a map")


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK) == ("0.33+", "1.0")


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy_takes_them_out():
    given = remedies(CHECK, "1.0", beta(ASKED))
    assert parses(given) == ["kubectl"]
    patch = patch_words(("/spec/template/spec/resources", {"requests": {"cpu": "1"}}, None))
    assert given[0].text == f"kubectl patch nodepools.karpenter.sh web {patch}"
