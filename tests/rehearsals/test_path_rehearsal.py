"""The whole way on one twin: rollouts of every hop, what others do, and where the runbook stops."""

import pytest

from migrations_app.actions.plan import RolloutLimits
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.errors import InvalidInput
from migrations_app.rehearsals.path_rehearsal import PathRehearsalRequest, rehearse_path
from migrations_app.rehearsals.rehearsed_path import render_path
from migrations_app.samples.fleet import files, find
from tests.rehearsals.scene import Refusing

LIMITS = RolloutLimits(batch=2, per_hour=1000, pool_percent=50)
ROLE = {"convert_and_apply": {"node_role": "KarpenterNodeRole-shop-prod"}}
EXPIRY = {"taint_and_drift": {"by": "expiry"}}


def way(story, target="1.14", **parameters):
    request = PathRehearsalRequest(target, LIMITS, parameters=parameters)
    return rehearse_path(open_bundle(dict(files(find(story)))), request, cluster=story)


def hops(found):
    return [(hop.hop, hop.target_release, hop.stopped.code if hop.stopped else "") for hop in found.hops]


def rollouts(found):
    return [(hop.hop, one.action, one.ends) for hop in found.hops for one in hop.steps if one.action]


def test_it_stops_where_a_person_has_to_decide_first():
    found = way("alpha_030")
    assert hops(found) == [("0.31", "0.31.5", ""), ("0.32", "0.32.10", ""), ("0.33+", "0.37.8", "loss")]
    assert (found.finished, found.hops[-1].stopped.action) == (False, "convert_and_apply")
    assert "The runbook stops at hop 0.33+: Apply converted" in render_path(found)


def test_what_people_decide_takes_it_to_the_pods_that_must_not_be_evicted():
    found = way("alpha_030", **ROLE, **EXPIRY)
    assert hops(found) == [("0.31", "0.31.5", ""), ("0.32", "0.32.10", ""), ("0.33+", "0.37.8", "gate")]
    assert [one for one in rollouts(found) if one[0] == "0.33+"] == [
        ("0.33+", "convert_and_apply", "played"),
        ("0.33+", "rename_markers", "by_others"),
        ("0.33+", "taint_and_drift", "stops"),
    ]
    assert "batch/nightly-report" in found.hops[-1].stopped.words


def test_beta_goes_to_the_newest_release():
    assert hops(way("beta_037")) == [("1.0", "1.0.14", ""), ("1.1+", "1.1.10", ""), ("1.14", "1.14.1", "")]


def test_stored_versions_are_rewritten_before_v1beta1_goes():
    found = way("v1_beta_stored")
    assert [hop.hop for hop in found.hops] == ["1.1+", "1.14"]
    assert ("1.1+", "rewrite_stored_versions", "played") in rollouts(found)
    assert all(hop.stopped is None for hop in found.hops)


def test_the_same_way_is_foretold_twice():
    assert way("beta_037", "1.0") == way("beta_037", "1.0")


def test_what_blocks_without_an_answer_is_named_and_not_finished():
    api = Refusing(open_bundle(dict(files(find("beta_037")))), "validatingwebhookconfigurations")
    found = rehearse_path(api, PathRehearsalRequest("1.0", LIMITS), cluster="shop")
    assert [hop.unknown for hop in found.hops] == [("admission_webhooks_current", "conversion_webhook_resolves")]
    assert (found.finished, way("beta_037", "1.0").finished) == (False, True)


def test_a_target_behind_is_refused():
    with pytest.raises(InvalidInput) as caught:
        way("beta_037", "0.32")
    assert caught.value.code == "target_below_current"
