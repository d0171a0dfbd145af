"""Deliveries in a journey: paused before what they would revert, resumed at the end, and told in between."""

from functools import cache

import msgspec
import pytest
from django.urls import reverse
from django.utils import timezone

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import ChangeTarget, DeliveryPause
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.journeys.compose import Choices, journey_steps
from migrations_app.journeys.deliveries import PAUSE, RESUME, StepDone, active_deliveries, paused_by_steps, with_pauses
from migrations_app.journeys.next_move import Move, RolloutFacts, StepFacts, next_move
from migrations_app.journeys.plan import Command, JourneyStep
from migrations_app.models.audit import AuditEvent
from migrations_app.models.journey import JourneyStepRow
from migrations_app.models.policy import Policy
from migrations_app.readiness.delivery_diff import diff_to_commit, values_of
from migrations_app.readiness.report import Carrier, InstallationFacts
from migrations_app.use_cases.journeys.lifecycle import abort_journey
from tests.actions.delivered import GIVEN
from tests.builders.rollouts import entitled
from tests.builders.rows import a_finding
from tests.journeys.test_compose import hops, report
from tests.use_cases.journeys import stage
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.xdist_group("journey-steps")  # the samples are judged once, in one worker

CARRIER = "HelmRelease flux-system/karpenter"
POOLS = "Kustomization flux-system/pools"
ALLOWED = Choices({}, 600, by_delivery=True, pauses=True)


def installed(*carriers, by="flux"):
    return InstallationFacts(
        namespace="kube-system", release="karpenter", kept_by=by, crds_kept_by=by, carriers=carriers
    )


def carrier(**more):
    given = {"chart": "karpenter", "kind": "HelmRelease", "namespace": "flux-system", "name": "karpenter"}
    return Carrier(**(given | more))


def asking(*names) -> Finding:
    """The finding of what acts by itself, with the fix for each."""
    remedies = []
    for name in names:
        kind, _, rest = name.partition(" ")
        space, _, own = rest.partition("/")
        remedies.append(Remedy(how="flux", text="x", change=DeliveryPause(target=ChangeTarget(kind, own, space))))
    return msgspec.structs.replace(a_finding("gitops_paused"), remedies=tuple(remedies))


@cache
def a_hop(*names):
    return msgspec.structs.replace(hops("beta_037")[0], steps=(asking(*names),))


def step(action="", *, release=""):
    kind = "rollout" if action else "outside"
    return JourneyStep(id="", kind=kind, title=action or "by hand", phase="crds", action=action, release=release)


def woven(*steps, names=(CARRIER, POOLS), here=None):
    hop = a_hop(*names)
    reordered = [step(one.action, release=hop.path_hop.release) if one.release else one for one in steps]
    found = with_pauses(reordered, hop, installed=here or installed(carrier()))
    return [(one.action or one.kind, one.parameters.get("deliveries")) for one in found]


LAND, LAST = step("upgrade_delivery", release="x"), step()


def test_what_brings_the_release_is_paused_after_it_and_the_others_before_the_first_change():
    assert woven(step("upgrade_crds"), LAND, step("convert_and_apply"), LAST) == [
        (PAUSE, [POOLS]), ("upgrade_crds", None), ("upgrade_delivery", None), (PAUSE, [CARRIER]),
        ("convert_and_apply", None), ("person", None), (RESUME, [POOLS, CARRIER]), ("outside", None),
    ]  # fmt: skip


def test_where_nothing_would_be_reverted_nothing_is_paused():
    assert woven(LAND, LAST) == [("upgrade_delivery", None), ("outside", None)]
    assert woven(step("convert_and_apply"), LAST, names=()) == [("convert_and_apply", None), ("outside", None)]


@pytest.mark.parametrize("here", [installed(), installed(carrier(elsewhere="Flux flux-system/apps"))])
def test_where_the_release_comes_through_git_all_of_them_run_until_it_has_landed(here):
    found = woven(step("upgrade_crds"), LAND, step("convert_and_apply"), LAST, here=here)
    assert [one for one in found if one[0] == PAUSE] == [(PAUSE, [CARRIER, POOLS])]
    assert [one[0] for one in found].index(PAUSE) == 2


def test_where_helm_keeps_the_controller_everything_is_paused_at_once():
    found = woven(step("upgrade_crds"), LAND, step("convert_and_apply"), LAST, here=installed(by="helm"))
    assert found[0] == (PAUSE, [CARRIER, POOLS])
    assert [one[0] for one in found].count(PAUSE) == 1


def test_without_leave_a_person_does_it_as_the_runbook_says():
    told = report("v1_beta_stored").cluster.installed
    hop = hops("v1_beta_stored")[0]
    for choices, many in ((Choices({}, 600), 0), (ALLOWED, 2)):
        found = journey_steps(hop, installed=told, choices=choices)
        assert sum(one.action in (PAUSE, RESUME) for one in found) == many
        assert sum(one.action == "upgrade_delivery" for one in found) == bool(many)
    assert active_deliveries(hop.steps) == (CARRIER,)


def test_what_git_writes_is_a_task_with_the_difference_to_commit():
    told = report("v1_beta_stored").cluster.installed
    one = msgspec.structs.replace(told.carriers[0], elsewhere="Flux flux-system/apps")
    here = msgspec.structs.replace(told, carriers=(one,))
    commit = Command("flux", diff_to_commit(one, version="1.1.10", edits=(("logLevel", '"debug"'),)))
    choices = ALLOWED._replace(diffs={"karpenter": commit})
    (landing,) = [
        found
        for found in journey_steps(hops("v1_beta_stored")[0], installed=here, choices=choices)
        if found.release and found.phase == "controller"
    ]
    assert (landing.kind, landing.commands, landing.protects) == ("outside", (commit,), True)
    assert commit.text.splitlines()[:2] == [f"--- a/{CARRIER}", f"+++ b/{CARRIER}"]
    changed = [line for line in commit.text.splitlines()[2:] if line[0] in "+-"]
    assert changed == ['-      version: "1.0.14"', '+      version: "1.1.10"', "+    logLevel: debug"]


@pytest.mark.parametrize("form", ["valuesObject", "values"])
def test_the_difference_of_an_application_keeps_the_form_of_its_values(form):
    values = dict(GIVEN) if form == "valuesObject" else "settings:\n  clusterName: shop\nreplicas: 2\n"
    source = {"chart": "karpenter", "targetRevision": "1.0.8", "helm": {form: values}}
    app = carrier(kind="Application", spec={"source": source})
    text = diff_to_commit(app, version="1.0.14", edits=(("replicas", ""), ("webhook.enabled", "false")))
    changed = [line.strip("+- ") for line in text.splitlines()[2:] if line[0] in "+-"]
    assert sorted(changed) == sorted(
        ['targetRevision: "1.0.8"', 'targetRevision: "1.0.14"', "replicas: 2", "webhook:", "enabled: false"]
    )
    assert values_of(app) == laid(GIVEN, ())
    assert diff_to_commit(carrier(spec={}), version="1", edits=()) == ""


def seen(state, **more):
    return StepFacts(state="running", since=timezone.now(), rollout=RolloutFacts(state=state, **more))


def test_what_its_rollout_has_read_itself_needs_no_scan():
    pause = JourneyStep(id="j01", kind="rollout", title="x", phase="crds", action=PAUSE, settled=True)
    now = timezone.now()
    assert next_move(pause, seen("succeeded"), now=now) == Move("finish", "settled")
    assert next_move(pause, seen("expired", cause_code="nothing_to_do"), now=now) == Move("finish", "settled")
    assert next_move(pause, seen("expired", cause_code="missing_rights"), now=now) == Move("fail", "missing_rights")
    assert next_move(pause, seen("failed"), now=now) == Move("fail", "rollout_failed")


def done(action, rollout, *names):
    return StepDone(JourneyStep(id="", kind="rollout", title="", phase="crds", action=action, parameters={
        "deliveries": list(names)}), rollout)  # fmt: skip


def test_what_stands_still_is_told_until_it_is_resumed():  # A39
    paused = done(PAUSE, "succeeded", CARRIER, POOLS)
    assert paused_by_steps([paused, done(RESUME, "")]) == (CARRIER, POOLS)
    assert paused_by_steps([paused, done(RESUME, "failed", CARRIER, POOLS)]) == (CARRIER, POOLS)
    assert paused_by_steps([paused, done(RESUME, "succeeded", POOLS)]) == (CARRIER,)
    assert paused_by_steps([paused, done(RESUME, "succeeded", CARRIER, POOLS)]) == ()


@pytest.mark.parametrize(
    ("state", "told"), [("", 0), ("expired", 0), ("rolled_back", 0), ("aborted", 1), ("running", 1), ("failed", 1)]
)
def test_a_pause_that_may_have_happened_counts(state, told):
    assert len(paused_by_steps([done(PAUSE, state, CARRIER)])) == told


class TestOnRows:
    """A journey whose only change is the writing of NodePools, which a Kustomization would take back."""

    pytestmark = pytest.mark.django_db

    @pytest.fixture
    def standing_still(self, shop, ada, cleo):
        stage.scanned(shop, stage.finding(), _asking_at(stage.HOP))
        row = stage.started(stage.approved(stage.previewed(shop, ada), ada, [cleo]), ada)
        stage.advanced(row, 2)
        stage.planned(shop)
        stage.advanced(row, 2)
        stage.ended(stage.work(row))
        return stage.advanced(row)

    def test_the_pause_is_done_without_a_scan_and_told_until_the_end(self, standing_still, ada, client):  # A39
        row = standing_still
        (pause, resume) = (one for one in JourneyStepRow.objects.filter(journey=row) if one.definition["settled"])
        assert (pause.definition["action"], pause.state, pause.cause_code) == (PAUSE, "done", "settled")
        assert (resume.definition["action"], resume.definition["parameters"]["ahead"]) == (RESUME, True)
        client.force_login(entitled(ada, "view_cluster"))
        page, rest = reverse("journey", args=[row.pk]), f"/api/v1/journeys/{row.pk}"
        assert "Paused by this journey" in client.get(page).content.decode()
        assert "Plan to resume" not in client.get(page).content.decode()

        abort_journey(row.pk, person(ada), reason="enough", by=actor(ada))
        told = " ".join(client.get(page).content.decode().split())
        assert "Paused by this journey and not resumed:" in told
        assert f'href="{reverse("cluster-rollout-new", args=[row.cluster_id])}?action={RESUME}"' in told
        assert client.get(rest).json()["paused_deliveries"] == [POOLS]
        event = AuditEvent.objects.get(correlation=str(row.pk), verb="journey.aborted")
        assert msgspec.json.decode(event.detail)["paused_deliveries"] == [POOLS]

    def test_without_leave_of_the_policy_there_are_no_such_steps(self, shop, ada):
        Policy.objects.create(actions=["upgrade_crds", "roll_nodes"])
        stage.scanned(shop, stage.finding(), _asking_at(stage.HOP))
        row = stage.advanced(stage.drafted(shop, ada))
        actions = {one.definition["action"] for one in JourneyStepRow.objects.filter(journey=row)}
        assert {PAUSE, RESUME} & actions == set()


def _asking_at(hop):
    return msgspec.structs.replace(asking(POOLS), hop=hop, phase="preflight", status="fail", severity="info")
