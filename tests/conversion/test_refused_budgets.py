"""What the API refuses in the disruption budgets of a NodePool of v1, as convert and lint say it."""

import pytest

from migrations_app.conversion.required_fields import refused_budgets
from migrations_app.karpenter.versions import parse

NEWEST = "1.14.1"


def refused(*budgets, release=NEWEST, api="karpenter.sh/v1"):
    body = {"apiVersion": api, "kind": "NodePool", "spec": {"disruption": {"budgets": list(budgets)}}}
    return [(".".join(map(str, one.path[3:])), one.what) for one in refused_budgets(body, parse(release))]


TWICE = ("0.reasons", "Empty is given 2 times; from 1.13 on a reason may be given once")


@pytest.mark.parametrize(
    ("budget", "found"),
    [
        ({"nodes": "10%"}, []),
        ({"nodes": "0", "reasons": ["Drifted", "Empty", "Underutilized"]}, []),
        ({"nodes": "1", "reasons": ["Empty", "Drifted", "Empty"]}, [TWICE]),
        (
            {"nodes": "1", "reasons": ["Expired"]},
            [("0.reasons", '"Expired" is not one of Underutilized, Empty, Drifted')],
        ),
        ({"nodes": 5}, [("0.nodes", "5 is no text; write it in quotes")]),
        ({"nodes": "101%"}, [("0.nodes", '"101%" is neither a number nor 0% to 100%')]),
        (
            {"nodes": "1", "schedule": "@daily"},
            [("0", "schedule and duration belong together, and only one of them is given")],
        ),
        ({"nodes": "1", "schedule": "${WINDOW}", "duration": "8h", "reasons": ["${REASON}"]}, []),
        (dict.fromkeys(("nodes", "schedule", "duration"), "{{ .Values.x }}") | {"reasons": ["{{ .Values.y }}"]}, []),
        ("10%", []),
    ],
)
def test_what_the_newest_release_refuses(budget, found):
    assert refused(budget) == found


def test_a_reason_given_twice_is_refused_from_1_13_on():
    twice = {"nodes": "1", "reasons": ["Empty", "Empty"]}
    assert [refused(twice, release=release) for release in ("1.12.2", "1.13.0")] == [[], [TWICE]]


def test_more_than_fifty_budgets_are_refused():
    assert refused(*[{"nodes": "1"}] * 50) == []
    assert refused(*[{"nodes": "1"}] * 51) == [("", "51 budgets; the API accepts 50")]


def test_other_generations_are_not_judged_here():
    assert refused({"nodes": "101%"}, api="karpenter.sh/v1beta1") == []


@pytest.mark.parametrize("spec", [None, {}, {"disruption": None}, {"disruption": {"budgets": {}}}])
def test_a_pool_without_budgets_has_none_refused(spec):
    assert list(refused_budgets({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": spec})) == []
