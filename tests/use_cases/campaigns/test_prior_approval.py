"""What a recipe settles for all of its clusters: steps that were weighed, and plans that are made on the way."""

import msgspec
import pytest
from django.utils import timezone

from migrations_app.errors import Conflict
from migrations_app.journeys.deletions import DestroyedObject, deleted_objects
from migrations_app.journeys.plan import JourneyStep
from migrations_app.journeys.prior_approval import (
    AskedCheck,
    PriorApproval,
    WeighedChecks,
    covers_destroying,
    covers_unseen,
    is_weighed,
)
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey, JourneyStepRow
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.use_cases.audit import log
from migrations_app.use_cases.campaigns import approvals, member_decisions, member_journeys
from tests.builders.rollouts import IDENTITY, a_plan, remove, taint
from tests.journeys.test_outline import CLUSTER, removals, told
from tests.use_cases.campaigns import stage
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.people import actor, person

TARGET_RELEASE, NOTE = journeys.TO_RELEASE, "quotas and roles were compared"
PERMITTED, ROOM, ELSEWHERE = "controller_permitted", "aws_has_room", "policy_size_fits"
NO_AWS, OTHER = ("aws_not_asked",), ("part_unread",)
LATER = "0.34.5"
"""Another hop of the way."""
PRIOR = PriorApproval(
    source="campaign to 0.33",
    by="ada",
    note=NOTE,
    accepts=True,
    weighed={
        TARGET_RELEASE: WeighedChecks(
            {
                PERMITTED: AskedCheck("unknown", NO_AWS),
                ROOM: AskedCheck("fail", ("one", "two")),
                "blocks": AskedCheck("fail", ("one",), blocks=True),
                "part": AskedCheck("fail", ("one",), whole=False),
                "asks": AskedCheck("manual", ("look here",)),
                "not_ticked": AskedCheck("fail", ("one",)),
            },
            again=("spot_role_present",),
            accepted=(ROOM, "blocks", "part"),
        ),
        LATER: WeighedChecks({ELSEWHERE: AskedCheck("unknown", NO_AWS)}),
    },
    actions={TARGET_RELEASE: ("roll_nodes",)},
    cluster=told(taint()).cluster,
    nodes=10,
    covered=True,
)


def step(*checks: str, action: str = "") -> JourneyStep:
    return JourneyStep(id="j01", kind="person", title="Weigh it", phase="iam", checks=checks, action=action)


@pytest.mark.parametrize(
    ("check", "now", "wanted"),
    [
        (PERMITTED, AskedCheck("unknown", NO_AWS), True),
        (PERMITTED, AskedCheck("pass"), True),
        (PERMITTED, AskedCheck("unknown", OTHER), False),  # it cannot be told for another reason than was shown
        (PERMITTED, AskedCheck("manual", ("look here",)), False),
        (PERMITTED, AskedCheck("fail", ("one",)), False),  # nobody accepts what was not shown as failing
        (ROOM, AskedCheck("fail", ("two",)), True),
        (ROOM, AskedCheck("fail", ("two", "three")), False),  # one more cause than was shown
        (ROOM, AskedCheck("fail", ("two",), whole=False), False),
        (ROOM, AskedCheck("fail", ("two",), blocks=True), False),
        (ROOM, AskedCheck("unknown", NO_AWS), False),  # it failed when the others were weighed
        ("blocks", AskedCheck("fail", ("one",)), False),
        ("part", AskedCheck("fail", ("one",)), False),
        ("not_ticked", AskedCheck("fail", ("one",)), False),  # of a step that other tools do: no approver saw it
        ("asks", AskedCheck("manual", ("look here",)), True),
        ("asks", AskedCheck("manual", ("look there",)), False),
        ("asks", AskedCheck("manual"), False),
        (ELSEWHERE, AskedCheck("unknown", NO_AWS), True),  # as it was shown at another hop of the way
        (ELSEWHERE, AskedCheck("pass"), False),
        (
            "spot_role_present",
            AskedCheck("unknown", NO_AWS),
            True,
        ),  # told again after a hop, for a reason that was shown
        ("spot_role_present", AskedCheck("unknown", OTHER), False),
        ("spot_role_present", AskedCheck("manual", ("look here",)), False),
        ("never_shown", AskedCheck("unknown", NO_AWS), False),
    ],
)
def test_a_step_is_weighed_as_it_was_shown(check, now, wanted):
    here = {"cluster": PRIOR.cluster, "now": {check: now}}
    assert is_weighed(PRIOR, step(check), target_release=TARGET_RELEASE, **here) is wanted
    for other in ({"note": ""}, {"covered": False}, {"cluster": "another one"}):
        changed = msgspec.structs.replace(PRIOR, **other)
        assert not is_weighed(changed, step(check), target_release=TARGET_RELEASE, **here)
    assert not is_weighed(PRIOR, step(check), target_release="0.35.9", **here)
    assert not is_weighed(PRIOR, step(check, "never_shown"), target_release=TARGET_RELEASE, **here)


def test_without_a_check_there_is_nothing_to_weigh_and_failing_ones_need_an_approver():
    here = {"cluster": PRIOR.cluster, "now": {ROOM: AskedCheck("fail", ("two",))}}
    assert is_weighed(PRIOR, step(ROOM), target_release=TARGET_RELEASE, **here)
    assert not is_weighed(PRIOR, step(), target_release=TARGET_RELEASE, **here)
    assert not is_weighed(
        msgspec.structs.replace(PRIOR, accepts=False), step(ROOM), target_release=TARGET_RELEASE, **here
    )


def covered(*steps, prior=PRIOR, limit="high", **more) -> bool:
    made = told(*steps, **({"action": "roll_nodes"} | more))
    return covers_unseen(prior, step(action="roll_nodes"), outline=made, target_release=TARGET_RELEASE, limit=limit)


def test_a_plan_that_could_not_be_shown_is_covered_within_what_was():
    assert covered(*removals(*range(11)))
    assert covered(taint())
    assert not covered(*removals(*range(12)))
    assert not covered(*removals(1), prior=msgspec.structs.replace(PRIOR, nodes=None))
    assert not covered(taint(), action="taint_and_drift")
    assert not covered(taint(), prior=msgspec.structs.replace(PRIOR, actions={}))
    assert not covered(taint(), prior=msgspec.structs.replace(PRIOR, covered=False))
    assert not covered(taint(), identity=IDENTITY)
    assert not covered(taint(), doubts={"s001": "not provable"})
    assert not covered(*removals(1), limit="medium")
    assert not covered(remove(risk="destructive"))
    assert a_plan(CLUSTER).identity != IDENTITY


OLD = DestroyedObject(kind="Provisioner", name="default", uid="u-1")
DESTROYS = msgspec.structs.replace(PRIOR, destroys={TARGET_RELEASE: ("remove_legacy",)}, objects=(OLD,))


def destroying(
    *objects: DestroyedObject, prior=DESTROYS, target_release=TARGET_RELEASE, action="remove_legacy", **more
) -> bool:
    made = told(remove(risk="destructive"), action=action, **more)
    what = step(action=action)
    return covers_destroying(prior, what, outline=made, deletes=objects or None, target_release=target_release)


def test_a_plan_that_deletes_is_covered_for_the_objects_that_were_shown_alone():
    assert destroying(OLD)
    for other in ({"uid": "u-2"}, {"name": "other"}, {"kind": "AWSNodeTemplate"}, {"manager": "Flux a/b"}):
        assert not destroying(OLD, msgspec.structs.replace(OLD, **other))
    assert not destroying()
    assert not destroying(OLD, target_release=LATER)
    assert not destroying(OLD, action="forced_deletion")
    assert not destroying(OLD, identity=IDENTITY)
    assert not destroying(OLD, doubts={"s001": "not provable"})
    assert not destroying(OLD, prior=msgspec.structs.replace(DESTROYS, covered=False))
    assert not destroying(OLD, prior=msgspec.structs.replace(DESTROYS, destroys={}))


def test_only_a_plan_that_deletes_and_nothing_else_has_objects_to_compare():
    assert deleted_objects(a_plan(CLUSTER, remove())) is not None
    assert deleted_objects(a_plan(CLUSTER, remove(), taint())) is None


def test_a_name_in_braces_stands_for_the_cluster():
    told = {"convert_and_apply": {"node_role": "Role-{cluster}"}, "taint_and_drift": {"seconds": 9}}
    wanted = {"convert_and_apply": {"node_role": "Role-blue"}, "taint_and_drift": {"seconds": 9}}
    assert member_journeys._with_cluster_name(told, "blue") == wanted


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
    stage.preview_journeys(row)
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
    assert (row.forecast["weighs"], row.forecast["fails"]) == ({}, {"controller_permitted": 1})
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
        approvals.withdraw_approval(row.pk, person(cleo), reason="too early", by=actor(cleo))
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
    assert journeys.refusal(Conflict, member_decisions.requeue_member, row.pk, who, **settle) == "journey_open"
    first = JourneyStepRow.objects.filter(journey=blue.journey).earliest("place")
    JourneyStepRow.objects.filter(pk=first.pk).update(state="failed")
    member_decisions.requeue_member(row.pk, who, **settle)
    row.refresh_from_db()
    blue = stage.member(row, "blue")
    assert (row.state, blue.state, blue.cause_code, blue.journey.state) == ("running", "running", "", "running")
    first.refresh_from_db()
    assert first.state == "ready"
    assert journeys.refusal(Conflict, member_decisions.requeue_member, row.pk, who, **settle) == "moved"


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
    for place, name in ((member_journeys, "hold_journeys"), (log, "_locked_head")):
        lock = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, lock=lock, name=name: locked.append(name) or lock(*given))
    member_decisions.requeue_member(row.pk, person(ada), member=blue.pk, by=actor(ada), resume=True)
    assert (locked[0], "_locked_head" in locked) == ("hold_journeys", True)


@pytest.mark.django_db
def test_of_two_that_stopped_the_first_resumes_nothing(ada, cleo):
    row = running(ada, cleo, "blue", "green")
    for name in ("blue", "green"):
        stage.ended(stage.member(row, name), "aborted", cause_code="asked")
    stage.advanced(row)
    blue = stage.member(row, "blue")
    told = {"member": blue.pk, "by": actor(ada), "resume": True}
    assert journeys.refusal(Conflict, member_decisions.requeue_member, row.pk, person(ada), **told) == "member_stopped"
    assert stage.states(row) == {"blue": "stopped", "green": "stopped"}
