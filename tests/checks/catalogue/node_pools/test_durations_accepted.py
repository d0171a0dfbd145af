import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "durations_accepted"
GOOD = ("pass", "The API accepts every duration")
WANTED = "whole hours, minutes and seconds, such as 720h"


def beta(changes=None):
    return at("0.37.8", a_pool(changes, version="v1beta1"))


@pytest.mark.parametrize("text", ["720h", "1h30m", "90s", "Never", "0s"])
def test_what_the_api_takes(text):
    assert answer(CHECK, "1.0", beta({"spec.disruption.expireAfter": text})) == GOOD


@pytest.mark.parametrize("text", ["30d", "720", "1.5h", "never", "-1h", "500ms"])
@pytest.mark.parametrize("path", ["spec.disruption.expireAfter", "spec.disruption.consolidateAfter"])
def test_what_it_refuses(path, text):
    cause = row("NodePool", "web", path, seen=text, wanted=WANTED)
    assert found(CHECK, "1.0", beta({path: text})) == ("fail", (cause,))


@pytest.mark.parametrize("text", ["1d", "Never"])
def test_the_grace_period_of_v1(text):
    path = "spec.template.spec.terminationGracePeriod"
    cause = row("NodePool", "web", path, seen=text, wanted=WANTED)
    assert found(CHECK, "1.1+", at("1.0.14", a_pool({path: text}))) == ("fail", (cause,))


def test_a_budget_of_a_day():
    budgets = [{"nodes": "1"}, {"nodes": "0", "schedule": "@daily", "duration": "1d"}]
    cause = row("NodePool", "web", "spec.disruption.budgets[1].duration", seen="1d", wanted=WANTED)
    assert found(CHECK, "1.0", beta({"spec.disruption.budgets": budgets})) == ("fail", (cause,))


@pytest.mark.parametrize(
    ("path", "odd", "words"),
    [
        ("spec.disruption.expireAfter", 720, "spec.disruption.expireAfter is not a text"),
        ("spec.disruption", [], "spec.disruption is no map"),
        ("spec.disruption.budgets", {}, "spec.disruption.budgets is not a list of maps"),
        ("spec.disruption.budgets", [{"duration": 60}], "spec.disruption.budgets[0].duration is not a text"),
    ],
)
def test_odd_values_are_unknown_by_their_field(path, odd, words):
    assert answer(CHECK, "1.0", beta({path: odd})) == ("unknown", f"NodePool web: {words}")


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK)[0] == "0.33+"


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy():
    given = remedies(CHECK, "1.0", beta({"spec.disruption.expireAfter": "30d"}))
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit nodepools.karpenter.sh web  # spec.disruption.expireAfter; {WANTED}"
    assert given[0].text == edit
