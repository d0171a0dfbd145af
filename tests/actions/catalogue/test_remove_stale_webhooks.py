"""Admission webhooks that the running release does not ship are deleted, and put back as they were when wanted."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.conditions import Deleted, Exists
from migrations_app.actions.undo import restorable
from migrations_app.samples.installation import admission_webhook
from tests.actions.on_server import installed, put, registered
from tests.actions.scenes import a_scene, asks_too_much, steps_of, target_of
from tests.actions.whole_rollouts import done, lasting, roll_back, sent
from tests.builders.clusters import a_cluster

ACTION = "remove_stale_webhooks"
VALIDATING, MUTATING = "validation.webhook.karpenter.sh", "defaulting.webhook.karpenter.k8s.aws"
STALE = (admission_webhook(VALIDATING, namespace="kube-system"),
         admission_webhook(MUTATING, namespace="kube-system", mutating=True))  # fmt: skip
OLDEST = admission_webhook("validation.webhook.provisioners.karpenter.sh", namespace="kube-system")
FOREIGN = admission_webhook("validation.webhook.example.sh", namespace="kube-system")


def scene(version: str, *docs, **install):
    return a_scene(a_cluster(version, **install).with_docs(*docs), *docs)


def deleted(version: str, *docs, **install) -> list[str]:
    return [step.title for step in steps_of(ACTION, scene(version, *docs, **install))]


def refused(*given, **install) -> str:
    with pytest.raises(Unavailable) as caught:
        deleted(*given, **install)
    return caught.value.code


def test_what_1_0_no_longer_ships_is_deleted_and_can_be_made_again():
    one, two = steps_of(ACTION, scene("1.0.8", *STALE, FOREIGN))
    assert (one.title, two.title) == (f"Delete ValidatingWebhookConfiguration {VALIDATING}",
                                      f"Delete MutatingWebhookConfiguration {MUTATING}")  # fmt: skip
    assert (one.change.verb, one.preconditions, one.postconditions, one.risk) == (
        "delete",
        (("webhooks",),),
        (Deleted(),),
        "high",
    )
    assert (one.undo.verb, one.undo.body, one.undo_postconditions) == ("create", restorable(STALE[0]), (Exists(),))
    assert (one.undo.target, two.undo.target) == (target_of(STALE[0]), target_of(STALE[1]))


def test_what_the_running_release_answers_is_kept():
    assert refused("0.37.8", *STALE) == "nothing_to_do"
    assert deleted("0.37.8", *STALE, OLDEST) == [f"Delete {OLDEST['kind']} {OLDEST['metadata']['name']}"]


def test_a_journey_plans_for_the_release_that_its_upgrade_brings():
    ahead = steps_of(ACTION, scene("0.37.8", *STALE), release="1.0.14")
    assert [step.change.target.name for step in ahead] == [VALIDATING, MUTATING]
    assert ahead[0].note.startswith("0.37.8 runs: delete it only once 1.0.14 runs. 1.0.14 does not answer it.")
    then = steps_of(ACTION, scene("1.0.14", *STALE), release="1.0.14")
    assert [(step.change, step.undo) for step in then] == [(step.change, step.undo) for step in ahead]
    assert then[0].note.startswith("1.0.14 does not answer it.")
    with pytest.raises(Unavailable, match="hops away"):
        steps_of(ACTION, scene("0.32.10", *STALE), release="1.0.14")


def test_with_webhooks_switched_off_none_is_answered():
    assert len(deleted("0.37.8", *STALE, env={"DISABLE_WEBHOOK": "true"})) == 2


def test_what_was_gone_when_it_was_read_is_left_out():
    assert [
        step.change.target.name for step in steps_of(ACTION, a_scene(a_cluster("1.0.8").with_docs(*STALE), STALE[0]))
    ] == [VALIDATING]


def test_an_unknown_release_or_webhooks_unseen_stop_it():
    nobody = a_cluster("1.0.8").with_docs(*STALE).without("controller", "helm_releases")
    with pytest.raises(Unavailable, match="the running release is not known"):
        steps_of(ACTION, a_scene(nobody, *STALE))
    with pytest.raises(Unavailable, match="webhooks could not be read"):
        steps_of(ACTION, a_scene(a_cluster("1.0.8").unseen("webhooks")))


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(ACTION, steps_of(ACTION, scene("1.0.8", *STALE))) == set()


def whole(doc):
    """As a server takes it: the sample leaves out what a scan does not read."""
    more = {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    rules = [rule | {"apiVersions": ["*"]} for rule in doc["webhooks"][0]["rules"]]
    return doc | {"webhooks": [doc["webhooks"][0] | more | {"rules": rules}]}


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_they_go_and_come_back_as_they_were(server):  # A24, A27, A34, A35, CRD-14
    before = put(server, *(whole(doc) for doc in STALE))
    installed(server, "1.0.8")
    paths, cluster = [server.admin.path_of(one) for one in before], registered(server)
    row = done(cluster, ACTION)
    assert sorted(sent(row)) == [("delete", MUTATING), ("delete", VALIDATING)]
    assert [server.admin.request("GET", path).status for path in paths] == [404, 404]
    roll_back(cluster, row)
    after = [server.admin.get(path) for path in paths]
    assert all(one["metadata"]["annotations"].pop("karpdash.io/rollout") for one in after)
    assert all(one["metadata"]["annotations"].pop("karpdash.io/plan") for one in after)
    assert [lasting(one) for one in after] == [lasting(one) for one in before]
