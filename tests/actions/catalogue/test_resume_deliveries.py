"""What karpdash paused is switched on again, exactly as it was; what it did not pause is left alone."""

import json

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.inventory.facts.delivery_sources import PAUSED
from migrations_app.journeys.outline import differences, outline
from tests.actions.delivered import AUTOMATED, application, helm_release, kustomization
from tests.actions.scenes import a_plan, a_scene, asks_too_much, bodies, steps_of
from tests.builders.clusters import a_cluster

NAME = "resume_deliveries"
NAMED = ["HelmRelease flux-system/karpenter", "Application argocd/karpenter"]


def steps(*docs, action=NAME, **parameters):
    return steps_of(action, a_scene(a_cluster().with_docs(*docs), *docs), **parameters)


def paused(found, said):
    spec = {"suspend": True} if found["kind"] != "Application" else {"syncPolicy": {}}
    marks = {"annotations": {PAUSED: said}}
    return found | {"metadata": found["metadata"] | marks, "spec": found["spec"] | spec}


def resumed(spec):
    return {"metadata": {"annotations": {PAUSED: None}}, "spec": spec}


@pytest.mark.parametrize("automated", [{}, AUTOMATED, {"enabled": True, "prune": False}])
def test_argo_cd_gets_its_policy_back_as_it_was(automated):  # A39
    (step,) = steps(paused(application(), json.dumps(automated)))
    assert bodies([step])[0][2] == resumed({"syncPolicy": {"automated": automated}})
    assert step.undo.body["spec"] == {"syncPolicy": {"automated": None}}


@pytest.mark.parametrize("said", [None, False])
def test_flux_gets_its_switch_back_as_it_was(said):
    for found in (helm_release(), kustomization()):
        (step,) = steps(paused(found, json.dumps(said)))
        assert bodies([step])[0][2] == resumed({"suspend": said})


@pytest.mark.parametrize(
    ("found", "said", "now"),
    [
        (application(), json.dumps(AUTOMATED), {"syncPolicy": {"automated": {"prune": False}}}),
        (application(), json.dumps(AUTOMATED), {"syncPolicy": {"automated": {}}}),
        (helm_release(), "null", {"suspend": False}),
    ],
)
def test_a_setting_that_somebody_changed_since_the_pause_stays_and_is_named(found, said, now):
    found = paused(found, said)
    found["spec"] |= now
    (step,) = steps(found)
    assert step.change.body == {"metadata": {"annotations": {PAUSED: None}}}
    assert step.title.endswith(f"{found['kind']} {NAMED[found['kind'] == 'Application'].partition(' ')[2]}, which was "
                               "changed since")  # fmt: skip
    assert f"before the pause it was {said}" in step.note
    assert len(step.preconditions) == 2  # changed once more: it stops


def test_what_people_suspended_stays_so():
    with pytest.raises(Unavailable) as caught:
        steps(helm_release(suspend=True), application())
    assert caught.value.code == "nothing_to_do"


@pytest.mark.parametrize("said", ["", "[", "true", '"x"', "{}", "[1]", "1" * 2000])
def test_an_annotation_that_says_nothing_is_no_source(said):
    with pytest.raises(Unavailable) as caught:
        steps(paused(helm_release(), said))
    assert caught.value.code == "changed"


def test_planned_ahead_it_is_the_plan_of_its_turn():
    """A journey shows it before the pause; its approval covers the plan that is made after it."""
    before = (helm_release(), application(automated=AUTOMATED))
    told = json.dumps(AUTOMATED, sort_keys=True, separators=(",", ":"))
    after = [paused(helm_release(), "null"), paused(application(), told)]
    for old, new in zip(before, after, strict=True):
        new["metadata"]["uid"] = old["metadata"]["uid"]
    given = {"deliveries": NAMED, "ahead": True}
    shown, now = (outline(a_plan(NAME, steps(*docs, **given), parameters=given), doubts={}) for docs in (before, after))
    assert differences(shown, now) == ()
    assert len(now.requests) == 2


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(NAME, steps(paused(helm_release(), "null"), paused(application(), "{}"))) == set()
