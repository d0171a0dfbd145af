"""What a recipe settles for all of its clusters: steps that were weighed, and plans that are made on the way."""

import msgspec
import pytest
from django.utils import timezone

from migrations_app.errors import Conflict
from migrations_app.journeys.beforehand import SettledBefore, WeighedChecks, covers_unseen, is_weighed
from migrations_app.journeys.plan import JourneyStep
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey, JourneyStepRow
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.use_cases.audit import log
from migrations_app.use_cases.campaigns import approvals, member_journeys, settling
from tests.builders_rollouts import IDENTITY, a_plan, remove, taint
from tests.use_cases.campaigns import stage
from tests.use_cases.cast import actor, person
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.journeys.test_outline import CLUSTER, removals, told

LANDS, NOTE = journeys.LANDS, "quotas and roles were compared"
WEIGHED = ("controller_permitted", "aws_has_room")
SETTLED = SettledBefore(
    source="campaign to 0.33",
    by="ada",
    note=NOTE,
    weighed={LANDS: WeighedChecks(WEIGHED, failing=("aws_has_room",))},
    actions={LANDS: ("roll_nodes",)},
    cluster=told(taint()).cluster,
    nodes=10,
    covered=True,
)


def step(*checks: str, action: str = "") -> JourneyStep:
    return JourneyStep(id="j01", kind="person", title="Weigh it", phase="iam", checks=checks, action=action)


@pytest.mark.parametrize(
    ("checks", "statuses", "wanted"),
    [
        (WEIGHED[:1], {"controller_permitted": "unknown"}, True),
        (WEIGHED[:1], {"controller_permitted": "manual"}, True),
        (WEIGHED[:1], {"controller_permitted": "fail"}, False),
        (WEIGHED[1:], {"aws_has_room": "fail"}, False),  # nobody confirms unseen what a scan shows as failing
        (WEIGHED[1:], {"aws_has_room": "unknown"}, False),  # it failed when the others were weighed
        (WEIGHED, {"controller_permitted": "unknown", "aws_has_room": "fail"}, False),
        (WEIGHED[:1], {}, False),
        (("policy_size_fits",), {"policy_size_fits": "unknown"}, False),
        ((), {}, False),  # work to do, not a check to weigh
    ],
)
def test_a_step_is_weighed_as_it_was_shown(checks, statuses, wanted):
    here = {"cluster": SETTLED.cluster, "statuses": statuses}
    assert is_weighed(SETTLED, step(*checks), lands=LANDS, **here) is wanted
    for other in ({"note": ""}, {"covered": False}, {"cluster": "another one"}):
        changed = msgspec.structs.replace(SETTLED, **other)
        assert not is_weighed(changed, step(*checks), lands=LANDS, **here)
    assert not is_weighed(SETTLED, step(*checks), lands="0.34.5", **here)


def covered(*steps, settled=SETTLED, limit="high", **more) -> bool:
    made = told(*steps, **({"action": "roll_nodes"} | more))
    return covers_unseen(settled, step(action="roll_nodes"), made=made, lands=LANDS, limit=limit)


def test_a_plan_that_could_not_be_shown_is_covered_within_what_was():
    assert covered(*removals(*range(11)))
    assert covered(taint())
    assert not covered(*removals(*range(12)))
    assert not covered(*removals(1), settled=msgspec.structs.replace(SETTLED, nodes=None))
    assert not covered(taint(), action="taint_and_drift")
    assert not covered(taint(), settled=msgspec.structs.replace(SETTLED, actions={}))
    assert not covered(taint(), settled=msgspec.structs.replace(SETTLED, covered=False))
    assert not covered(taint(), identity=IDENTITY)
    assert not covered(taint(), doubts={"s001": "not provable"})
    assert not covered(*removals(1), limit="medium")
    assert not covered(remove(risk="destructive"))
    assert a_plan(CLUSTER).identity != IDENTITY


def test_a_name_in_braces_stands_for_the_cluster():
    told = {"convert_and_apply": {"node_role": "Role-{cluster}"}, "taint_and_drift": {"seconds": 9}}
    wanted = {"convert_and_apply": {"node_role": "Role-blue"}, "taint_and_drift": {"seconds": 9}}
    assert member_journeys._named(told, "blue") == wanted


MANUAL = journeys.finding("controller_permitted", status="unknown", phase="iam", severity="warning")


def running(ada, cleo, *names: str, status: str = "unknown", **wanted):
    """A campaign over these clusters whose journeys were shown; each has a step for a person before its rollout."""
    for one in stage.clusters(*names):
        journeys.scanned(one, journeys.finding(), msgspec.structs.replace(MANUAL, status=status))
        newest = Scan.objects.filter(cluster=one).latest("started_at").snapshot_id
        Snapshot.objects.filter(pk=newest).update(scanned_at=timezone.now())
        Cluster.objects.filter(pk=one.pk).update(latest=newest)
    row = stage.running(ada, cleo, waves=(0,), **wanted)
    stage.advanced(row)
    stage.shown(row)
    return stage.advanced(row)


def steps_of(row, name: str) -> list[tuple[str, str, str, str]]:
    rows = JourneyStepRow.objects.filter(journey=stage.member(row, name).journey).exclude(kind__in=("outside", "wait"))
    return list(rows.order_by("place").values_list("kind", "state", "by_name", "note"))


@pytest.mark.django_db
def test_one_note_confirms_the_step_on_every_cluster(ada, cleo):
    row = running(ada, cleo, "blue", "green", weighed=NOTE)
    assert row.forecast["weighs"] == {"controller_permitted": 2}
    for name in ("blue", "green"):
        journey = journeys.advanced(stage.member(row, name).journey, 4)
        assert steps_of(row, name)[0] == ("person", "done", "ada", f"{NOTE} (campaign to 0.33)")
        assert "journey.step_done" in journeys.verbs(journey)


@pytest.mark.django_db
def test_without_the_note_each_cluster_asks(ada, cleo):
    row = running(ada, cleo, "blue")
    journey = journeys.advanced(stage.member(row, "blue").journey, 4)
    assert (steps_of(row, "blue")[0][1], journey.wait_code, journey.needs_person) == ("running", "tick_needed", True)


@pytest.mark.django_db
def test_a_check_that_fails_by_now_asks_a_person(ada, cleo):
    row = running(ada, cleo, "blue", weighed=NOTE)
    on = Cluster.objects.get(name="blue")
    journeys.scanned(on, journeys.finding(), msgspec.structs.replace(MANUAL, status="fail"), late=1)
    journey = journeys.advanced(stage.member(row, "blue").journey, 4)
    assert journey.wait_code == "tick_needed"


@pytest.mark.django_db
def test_a_check_that_fails_is_not_what_no_scan_can_tell(ada, cleo):
    row = running(ada, cleo, "blue", status="fail", weighed=NOTE)
    assert row.forecast["weighs"] == {}
    journey = journeys.advanced(stage.member(row, "blue").journey, 4)
    assert (steps_of(row, "blue")[0][1], journey.wait_code) == ("running", "tick_needed")


@pytest.mark.django_db
@pytest.mark.parametrize("covered", [True, False])
def test_the_note_counts_only_for_what_the_campaign_covers_on_that_cluster(ada, cleo, covered):
    row = running(ada, cleo, "blue", weighed=NOTE)
    journey = stage.member(row, "blue").journey
    if covered:
        Cluster.objects.filter(name="blue").update(ca_digest="sha256:another")
    else:
        told = journey.choices["settled"] | {"covered": False}
        Journey.objects.filter(pk=journey.pk).update(choices=journey.choices | {"settled": told})
    assert journeys.advanced(journey, 4).wait_code == "tick_needed"


@pytest.mark.django_db
@pytest.mark.parametrize(("unseen", "taken_back", "state"), [
    (True, False, "approved"), (False, False, "awaiting_approval"), (True, True, "awaiting_approval"),
])  # fmt: skip
def test_a_plan_that_is_made_on_the_way(ada, cleo, unseen, taken_back, state):  # A40
    for one in stage.clusters("blue"):
        identity = a_plan(one).identity
        Cluster.objects.filter(pk=one.pk).update(kube_system_uid=identity.kube_system_uid, ca_digest=identity.ca)
    row = stage.running(ada, cleo, waves=(0,), unseen=unseen)
    stage.advanced(row)
    made = stage.member(row, "blue").journey
    journeys.scanned(made.cluster)
    journeys.advanced(made)
    journeys.unplanned(made.cluster, "no_pool")
    journeys.advanced(made)
    stage.advanced(row)
    if taken_back:
        approvals.take_back(row.pk, person(cleo), reason="too early", by=actor(cleo))
        made.refresh_from_db()
    journeys.advanced(made, 2)
    journeys.planned(made.cluster)
    journeys.advanced(made)
    assert journeys.work(made).state == state


@pytest.mark.django_db
def test_a_failed_step_is_tried_again_and_the_campaign_goes_on(ada, cleo):
    row = running(ada, cleo, "blue")
    blue = stage.member(row, "blue")
    settle = {"person": person(ada), "member": blue.pk, "by": actor(ada), "resume": True}
    stage.ended(blue, "paused", cause_code="other_release")
    stage.advanced(row)
    assert (row.state, stage.states(row)["blue"]) == ("paused", "stopped")
    who = settle.pop("person")
    # Its journey is paused, and no step of it failed: a person decides there.
    assert journeys.refusal(Conflict, settling.try_again, row.pk, who, **settle) == "journey_open"
    first = JourneyStepRow.objects.filter(journey=blue.journey).earliest("place")
    JourneyStepRow.objects.filter(pk=first.pk).update(state="failed")
    settling.try_again(row.pk, who, **settle)
    row.refresh_from_db()
    blue = stage.member(row, "blue")
    assert (row.state, blue.state, blue.cause_code, blue.journey.state) == ("running", "running", "", "running")
    first.refresh_from_db()
    assert first.state == "ready"
    assert journeys.refusal(Conflict, settling.try_again, row.pk, who, **settle) == "moved"


@pytest.mark.django_db
def test_journeys_are_locked_before_the_head_of_the_audit_log(ada, cleo, monkeypatch):
    """As their workers do: in the other order each waits for the other on PostgreSQL."""
    row = running(ada, cleo, "blue", "green")
    blue = stage.member(row, "blue")
    stage.ended(blue, "paused", cause_code="other_release")
    stage.advanced(row)
    first = JourneyStepRow.objects.filter(journey=blue.journey).earliest("place")
    JourneyStepRow.objects.filter(pk=first.pk).update(state="failed")
    locked = []
    for place, name in ((member_journeys, "hold_journeys"), (log, "_held_head")):
        lock = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, lock=lock, name=name: locked.append(name) or lock(*given))
    settling.try_again(row.pk, person(ada), member=blue.pk, by=actor(ada), resume=True)
    assert (locked[0], "_held_head" in locked) == ("hold_journeys", True)


@pytest.mark.django_db
def test_of_two_that_stopped_the_first_resumes_nothing(ada, cleo):
    row = running(ada, cleo, "blue", "green")
    for name in ("blue", "green"):
        stage.ended(stage.member(row, name), "aborted", cause_code="asked")
    stage.advanced(row)
    blue = stage.member(row, "blue")
    told = {"member": blue.pk, "by": actor(ada), "resume": True}
    assert journeys.refusal(Conflict, settling.try_again, row.pk, person(ada), **told) == "member_stopped"
    assert stage.states(row) == {"blue": "stopped", "green": "stopped"}
