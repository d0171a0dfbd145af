"""The conversion of CRDs is pointed at the controller's Service where that answers, and ended where none is needed."""

import base64
import uuid
from dataclasses import replace

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.conditions import FieldEquals
from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.collect.collect import collect
from migrations_app.inventory.parts import OtherVersion, Seen
from migrations_app.models.rollout import RolloutBackup
from migrations_app.readiness.action_offers import by_check, offers
from migrations_app.readiness.evaluate import evaluate
from migrations_app.samples.installation import Crds, Install, controller, crds
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.rollouts.approvals import approve, request_approval
from migrations_app.use_cases.rollouts.lifecycle import start
from tests import upstream
from tests.actions.on_server import plan_of, previewed, put, registered
from tests.actions.scenes import a_scene, action_of, asks_too_much, bodies, steps_of
from tests.actions.whole_rollouts import CRDS, lasting, roll_back, sent
from tests.builders.clusters import a_cluster, aws_node
from tests.collect.test_missing_conversion import CLASS, POOL
from tests.fakes.conversion_webhook import service_webhook
from tests.fakes.evilk8s import AUTHORITY
from tests.servers.apiserver_files import a_service_address
from tests.servers.crds import without_rules
from tests.use_cases.people import APPROVE, OPERATE, actor, approval_request, person, user

ACTION = "mend_conversion"
NAMES = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
CHECKS = ("conversion_webhook_resolves", "karpenter_lists_answer")


def scene(cluster, **shape):
    found = crds(Crds(version="1.0.14", **shape))
    service = next(
        one for one in controller(Install(cluster="c", version="1.0.14"), ["n1"]) if one["kind"] == "Service"
    )
    service["metadata"] |= {"namespace": "karpenter", "uid": "s-1"}
    return a_scene(cluster.without("crds").with_docs(*found), *found, service)


ASTRAY = {"service": ("kube-system", "karpenter"), "stored": ("v1beta1", "v1")}


def refused(cluster, **shape):
    with pytest.raises(Unavailable) as caught:
        steps_of(ACTION, scene(cluster, **shape))
    return caught.value.code, str(caught.value)


def test_each_crd_calls_the_service_of_the_controller_at_the_path_of_its_group():
    steps = steps_of(ACTION, scene(a_cluster("1.0.14", namespace="karpenter"), **ASTRAY))
    assert [step.change.target.name for step in steps] == list(NAMES)
    first, last = steps[0], steps[2]
    # The name and the port are right already: a patch of them changes nothing, and says all of it.
    assert first.change.body == {"spec": {"conversion": {"webhook": {"clientConfig": {"service": {
        "namespace": "karpenter", "name": "karpenter", "port": 8443, "path": "/conversion/karpenter.sh",
    }}}}}}  # fmt: skip
    called = last.change.body["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert called["path"] == "/conversion/karpenter.k8s.aws"
    assert first.undo.body["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"] == "kube-system"
    assert (("status", "storedVersions") in first.preconditions, first.risk) == (True, "medium")
    service = ("spec", "conversion", "webhook", "clientConfig", "service")
    assert FieldEquals(field=(*service, "namespace"), value="karpenter") in first.postconditions
    assert [(one.target.display_name, one.target.uid) for one in first.computed_from] == [
        ("Service karpenter/karpenter", "s-1")
    ]


def test_a_crd_that_lost_its_conversion_gets_it_again():
    (first, *_) = steps_of(ACTION, scene(a_cluster("1.0.14", namespace="karpenter"), stored=("v1beta1", "v1")))
    body = first.change.body["spec"]["conversion"]
    assert (body["strategy"], body["webhook"]["conversionReviewVersions"]) == ("Webhook", ["v1beta1", "v1"])
    assert first.undo.body["spec"]["conversion"] == {"strategy": "None", "webhook": None}
    assert "certificate" in first.note


def test_where_one_version_is_all_there_ever_was_the_conversion_ends():
    found = crds(Crds(version="0.36.0"))
    for one in found:
        one["spec"]["conversion"] = crds(Crds(version="1.0.14", **ASTRAY))[0]["spec"]["conversion"]
    steps = steps_of(ACTION, a_scene(a_cluster("0.36.0").without("crds").with_docs(*found), *found))
    assert {verb for verb, _, _ in bodies(steps)} == {"patch"}
    assert all(body == {"spec": {"conversion": {"strategy": "None", "webhook": None}}} for _, _, body in bodies(steps))
    assert steps[0].undo.body["spec"]["conversion"] == found[0]["spec"]["conversion"]


@pytest.mark.parametrize(
    ("cluster", "code"),
    [
        (a_cluster("1.0.14", namespace="karpenter", replicas=0), "conversion_unanswered"),
        (a_cluster("1.0.14", namespace="karpenter", env={"DISABLE_WEBHOOK": "true"}), "webhooks_off"),
        (a_cluster("1.0.14", namespace="karpenter").unseen("endpoints").without("controller"), "unknown_release"),
        (a_cluster("1.0.14", namespace="karpenter").without("services"), "no_webhook_service"),
        (a_cluster("0.36.0", namespace="karpenter"), "release_converts_nothing"),
    ],
)
def test_where_a_change_of_the_crds_does_not_help_it_says_what_does(cluster, code):
    assert refused(cluster, **ASTRAY)[0] == code


def test_what_answers_is_left_alone():
    cluster = a_cluster("1.0.14", namespace="karpenter")
    assert refused(cluster, stored=("v1beta1", "v1"), service=("karpenter", "karpenter"))[0] == "nothing_to_do"


def test_the_right_service_that_refuses_is_not_called_anew():
    made = scene(
        a_cluster("1.0.14", namespace="karpenter"), stored=("v1beta1", "v1"), service=("karpenter", "karpenter")
    )
    odd = Seen((), "karpenter.sh/v1beta1", other_version=OtherVersion("karpenter.sh/v1", "conversion_failed", "x509"))
    with pytest.raises(Unavailable, match="refuses: restart the controller") as caught:
        steps_of(ACTION, replace(made, inventory=replace(made.inventory, nodepools=odd)))
    assert caught.value.code == "called_already"


def services_of(name, *, namespace="karpenter", selector=True):
    """A Service with the port of webhooks, and its ready endpoints."""
    docs = controller(Install(cluster="c", version="1.0.14", namespace=namespace), ["n1"])
    found = [one for one in docs if one["kind"] in ("Service", "Endpoints")]
    for one in found:
        one["metadata"]["name"] = name
        if one["kind"] == "Service" and not selector:
            del one["spec"]["selector"]
    return found


def called_in(steps):
    places = (step.change.body["spec"]["conversion"]["webhook"]["clientConfig"]["service"] for step in steps)
    return {(place["namespace"], place["name"]) for place in places}


def test_a_service_of_another_party_beside_the_controller_is_not_called():
    cluster = a_cluster("1.0.14", namespace="karpenter")
    others = services_of("a-proxy", selector=False)
    kept = [*others, *services_of("karpenter")]
    assert called_in(steps_of(ACTION, scene(cluster.without("services").with_docs(*kept), **ASTRAY))) == {
        ("karpenter", "karpenter")
    }


def test_of_two_services_of_the_controller_the_one_that_it_names_is_called():
    named = a_cluster("1.0.14", namespace="karpenter", env={"KARPENTER_SERVICE": "karpenter-b"})
    steps = steps_of(ACTION, scene(named.with_docs(*services_of("karpenter-b")), **ASTRAY))
    assert called_in(steps) == {("karpenter", "karpenter-b")}
    unnamed = a_cluster("1.0.14", namespace="karpenter").with_docs(*services_of("karpenter-b"))
    code, words = refused(unnamed, **ASTRAY)
    assert (code, "karpenter/karpenter and karpenter/karpenter-b" in words) == ("several_services", True)


def test_of_two_controllers_no_service_is_chosen():
    second = controller(Install(cluster="c", version="1.0.14", namespace="karpenter-two"), ["n1"])
    cluster = a_cluster("1.0.14", namespace="karpenter").with_docs(*second)
    assert refused(cluster, service=("gone", "karpenter"), stored=("v1beta1", "v1"))[0] == "several_services"


def only_v1(crd):
    versions = [one for one in crd["spec"]["versions"] if one["name"] == "v1"]
    return {
        **crd,
        "spec": crd["spec"] | {"versions": versions},
        "status": crd["status"] | {"storedVersions": ["v1"]},
    }


def test_a_controller_that_insists_on_its_place_in_the_crd_keeps_it():
    found = [only_v1(one) for one in crds(Crds(version="1.0.14", service=("kube-system", "karpenter")))]
    cluster = a_cluster("1.0.14", namespace="karpenter").without("crds").with_docs(*found)
    assert called_in(steps_of(ACTION, a_scene(cluster, *found))) == {("karpenter", "karpenter")}


def test_of_a_crd_that_flux_keeps_the_approver_is_told_who_may_take_it_back():
    flux = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    cluster = a_cluster("1.0.14", namespace="karpenter")
    assert {step.manager for step in steps_of(ACTION, scene(cluster, labels=flux, **ASTRAY))} == {
        "Flux flux-system/infra"
    }


def test_where_the_release_is_not_known_no_conversion_is_ended():
    found = [only_v1(one) for one in crds(Crds(version="1.0.14", service=("kube-system", "karpenter")))]
    cluster = a_cluster("1.0.14", namespace="karpenter").without("crds", "controller").with_docs(*found)
    with pytest.raises(Unavailable) as caught:
        steps_of(ACTION, a_scene(cluster, *found))
    assert caught.value.code == "unknown_release"


@pytest.mark.parametrize("part", action_of(ACTION).parts)
def test_on_parts_that_were_not_read_nothing_is_planned(part):
    with pytest.raises(Unavailable, match=f"{part} could not be read"):
        steps_of(ACTION, a_scene(a_cluster("1.0.14", namespace="karpenter").unseen(part)))


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(ACTION, steps_of(ACTION, scene(a_cluster("1.0.14", namespace="karpenter"), **ASTRAY))) == set()


# On the real API server: lists fail, and answer again.


def answers(server):
    """What a scan says of the two checks, with the offers that stand at them."""
    connection = read_kubeconfig(server.kubeconfig(server.admin_token).encode())
    api = open_live(connection, reach=OutboundPolicy(allow_loopback=True))
    try:
        report = evaluate(collect(api, cluster="real"), target="1.0").report
    finally:
        api.close()
    found = {one.id: one for one in report.checks if one.id in CHECKS and one.hop == "1.0"}
    buttons = by_check(offers(report), found.values())
    enabled = {check: [one.action_id for one in row if one.enabled] for check, row in buttons.items()}
    return {name: one.status for name, one in found.items()}, enabled, found


def load_crds(server, conversion):
    found = [without_rules(crd) for crd in upstream.crds("v0.37.8") if crd["spec"]["group"].startswith("karpenter")]
    for crd in found:
        crd["spec"]["conversion"] = conversion
    server.load_documents(found)


def approved(row):
    """As two people do it: one asks and starts, the other one approves."""
    ada, cleo = user("ada", OPERATE), user("cleo", APPROVE)
    request_approval(row.pk, person(ada), by=actor(ada))
    row.refresh_from_db()
    approve(row.pk, person(cleo), approval_request=approval_request(row), by=actor(cleo))
    row.refresh_from_db()
    start(row.pk, person(ada), digest=row.digest, by=actor(ada))
    row.refresh_from_db()
    return row


def carried(row):
    """The run that was started, by workers one after the other."""
    for _ in range(60):
        if not worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
            break
    row.refresh_from_db()
    return row


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_the_lists_answer_again(server):  # D5, A24, A27, A28, A34, A35
    load_crds(server, {"strategy": "None"})
    put(server, POOL, CLASS, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karpenter"}}, aws_node())
    address = a_service_address()
    for doc in controller(Install(cluster="real", version="0.37.8", namespace="karpenter"), ["n1"]):
        if doc["kind"] == "Service":
            doc["spec"]["clusterIP"] = address
        if doc["kind"] in ("Deployment", "Service", "Endpoints", "ServiceAccount"):
            put(server, doc)
    # As the chart karpenter leaves them: the Service of another namespace; the certificate is the controller's.
    client = {
        "service": {"namespace": "kube-system", "name": "karpenter", "port": 8443, "path": "/conversion/karpenter.sh"}
    }
    client["caBundle"] = base64.b64encode(AUTHORITY.pem.encode()).decode()
    webhook = {"conversionReviewVersions": ["v1beta1", "v1"], "clientConfig": client}
    load_crds(server, {"strategy": "Webhook", "webhook": webhook})
    with service_webhook(address, name="karpenter.karpenter.svc") as calls:
        statuses, enabled, found = answers(server)
        assert statuses == dict.fromkeys(CHECKS, "fail"), found
        assert enabled == {name: [ACTION] for name in CHECKS}
        before = {one["metadata"]["name"]: one for one in server.admin.items(CRDS)}

        cluster = registered(server)
        row = previewed(cluster, ACTION)
        assert (row.state, row.cause, row.provable) == ("previewed", "", {})
        assert calls == []
        assert {one["metadata"]["name"]: one for one in server.admin.items(CRDS)} == before
        assert RolloutBackup.objects.filter(rollout=row, proven_at__isnull=False).count() == len(NAMES)
        row = carried(approved(row))
        assert (row.state, row.cause) == ("succeeded", "")
        assert sorted(sent(row)) == sorted(("patch", name) for name in NAMES)

        statuses, enabled, found = answers(server)
        assert statuses == dict.fromkeys(CHECKS, "pass"), found
        assert enabled == {}
        assert {"/conversion/karpenter.sh", "/conversion/karpenter.k8s.aws"} == set(calls)
        assert previewed(cluster, ACTION).cause_code == "nothing_to_do"

        roll_back(cluster, row)
        after = {one["metadata"]["name"]: one for one in server.admin.items(CRDS)}
        assert {name: lasting(one) for name, one in after.items()} == {
            name: lasting(one) for name, one in before.items()
        }
        assert answers(server)[0] == dict.fromkeys(CHECKS, "fail")
    assert plan_of(row).steps[0].computed_from[0].target.namespace == "karpenter"
