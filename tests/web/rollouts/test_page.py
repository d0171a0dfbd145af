"""The page of a rollout in each state: what it shows, what it offers, and what it says is missing."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from migrations_app.actions.plan import Forecast
from migrations_app.inventory.aws_facts.capacity_room import CapacityLine
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.rollouts.backups import keep_diffs
from tests.builders.rollouts import NODE, POOL, TAINT, a_line, a_picture, a_plan, a_rollout, an_approval, remove, taint
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db
STATES = (
    "draft", "previewed", "awaiting_approval", "approved", "running", "paused", "needs_attention", "failed", "aborted",
    "succeeded", "rolled_back", "rejected", "expired", "rolling_back",
)  # fmt: skip
EFFECT = "Taint Provisioners (12 nodes are replaced)"


def page(who, row, **query):
    return who.get(f"/rollouts/{row.pk}/", data=query) if query else who.get(f"/rollouts/{row.pk}/")


def buttons(answer):
    """The words of the buttons that can be pressed in the aside, by the address they lead to."""
    import re

    body = answer.content.decode().partition('aria-label="Actions"')[2]
    found = {}
    for action, form in re.findall(r'<form method="post" action="([^"]*)"(.*?)</form>', body, flags=re.DOTALL):
        for state, words in re.findall(r"<button([^>]*)>(.*?)</button>", form, flags=re.DOTALL):
            told = re.sub(r"<[^>]+>|\s+", " ", words).strip()
            found[action.rsplit("/", 1)[-1]] = (told, "disabled" not in state)
    return found


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_its_page_with_the_cluster_and_its_environment(ada, shop, state):
    row = a_rollout(shop, taint(), remove(), state=state, author=ada.user, cause="because", picture=a_picture())
    said = text(page(ada, row))
    assert ("shop" in said, "production" in said, "because" in said) == (True, True, True)


def test_a_draft_waits_for_a_worker(ada, shop):
    answer = page(ada, a_rollout(shop, state="draft", author=ada.user))
    said = text(answer)
    assert ("A worker reads the cluster" in said, "data-polled" in answer.content.decode()) == (True, True)
    assert buttons(answer) == {}


def test_a_draft_that_came_to_nothing_says_why(ada, shop):
    row = a_rollout(shop, state="expired", cause_code="missing_rights", cause='- {apiGroups: [""], verbs: ["delete"]}')
    said = text(page(ada, row))
    assert "karpdash lacks permissions on the cluster" in said
    assert 'verbs: ["delete"]' in said


def test_the_preview_tells_steps_forecast_and_the_point_of_no_return(ada, shop):  # A28, R23
    forecast = Forecast(nodes=12, pods=96, pods_without_budget=4, blocked=("budget cart allows none",),
                        cannot_be_undone=("the machine is gone",), at_least=True)  # fmt: skip
    plan = a_plan(shop, taint(note="Nodes drift."), remove(), forecast=forecast)
    said = text(page(ada, a_rollout(shop, plan_value=plan, author=ada.user)))
    for words in (
        "Taint Provisioner default", "Delete Node ip-10-0-0-1", "Point of no return", "Nodes drift.",
        "budget cart allows none", "the machine is gone", "at least 96", "wait until Node ip-10-0-0-1 is gone",
        "kubectl patch", "Required permissions, each checked", EFFECT,
    ):  # fmt: skip
        assert words in said
    assert said.count("Point of no return") == 1


@pytest.mark.parametrize(("steps", "told"), [((remove(),), True), ((taint(),), False)])
def test_the_pace_is_told_only_where_it_holds(ada, shop, steps, told):  # A33
    """What goes at once by a pool's own deletion, or as a controller likes, is not said to go in batches."""
    plan = a_plan(shop, *steps, forecast=Forecast(nodes=50))
    said = text(page(ada, a_rollout(shop, plan_value=plan, author=ada.user)))
    assert (f"max {plan.limits.per_hour} per hour" in said) is told


def test_the_difference_is_what_the_server_would_store(ada, ben, shop):
    row = a_rollout(shop, author=ada.user)
    before = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": {"name": "default"}, "spec": {}}
    keep_diffs(row, {"s001": (before, before | {"spec": {"taints": [TAINT]}})})
    assert "+ - effect: NoSchedule" in text(page(ada, row))
    said = text(page(ben, row))
    assert ("effect: NoSchedule" in said, "kubectl patch" in said, "Taint Provisioner default" in said) == (
        False, False, True,
    )  # fmt: skip


def test_long_plans_are_paged(ada, shop):
    row = a_rollout(shop, *(taint(title=f"Step number {n}") for n in range(120)), author=ada.user)
    first, second = page(ada, row), page(ada, row, **{"from": "50"})
    assert ("Step number 49" in text(first), "Step number 50" in rows_text(first)) == (True, False)
    assert ("Step number 50" in rows_text(second), "Step number 99" in rows_text(second)) == (True, True)
    assert "?from=100#steps-title" in links(second)
    assert page(ada, row, **{"from": "9999"}).status_code == 200


def rows_text(answer):
    body = answer.content.decode()
    return body[body.index('class="plan-steps"') :].split('id="hand-title"')[0]


def test_what_each_may_do_with_a_preview(ada, ben, shop):
    row = a_rollout(shop, author=ada.user)
    assert buttons(page(ada, row)) == {"ask": ("Ask for approval", True), "reject": ("Withdraw this preview", True)}
    assert [enabled for _, enabled in buttons(page(ben, row)).values()] == [False, False]


def test_the_approver_sees_digest_and_nonce_and_the_author_does_not_approve(ada, cleo, eve, shop):  # A42
    row = a_rollout(shop, state="awaiting_approval", author=eve.user)
    answer = page(cleo, row)
    assert buttons(answer)["approve"] == (f"Approve: {EFFECT}", True)
    for value in (row.digest, row.nonce):
        assert f'value="{value}"' in answer.content.decode()
    told = page(eve, row)
    assert (buttons(told)["approve"][1], "The author of a plan can not approve it." in text(told)) == (False, True)


def test_doubts_are_accepted_one_by_one(cleo, shop):  # A27
    row = a_rollout(shop, taint(), remove(), state="awaiting_approval", provable={"s001": "not provable: a webhook"})
    said = text(page(cleo, row))
    assert ("Acknowledge unverified steps" in said, "not provable: a webhook" in said) == (True, True)
    assert page(cleo, row).content.decode().count('name="accepted"') == 1


def test_destruction_asks_for_the_password_again(cleo, shop):  # A44
    row = a_rollout(shop, remove(risk="destructive"), state="awaiting_approval")
    answer = page(cleo, row)
    assert f"/sign-in-again?next=/rollouts/{row.pk}/" in links(answer)
    assert buttons(answer)["approve"][1] is False
    cleo.again()
    told = page(cleo, row)
    assert (buttons(told)["approve"][1], "Type the cluster" in text(told)) == (True, True)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda row: None, "0 of 1 approvals are valid"),
        (lambda row: KillSwitch.objects.create(on=True), "the kill switch is on: all changes are stopped"),
        (
            lambda row: Policy.objects.create(version=1, frozen=True, frozen_why="holidays"),
            "changes are frozen: holidays",
        ),
        (lambda row: Policy.objects.create(version=9), "the policy of the cluster was changed"),
        (lambda row: Rollout.objects.update(expires_at=timezone.now() - timedelta(1)), "the plan is too old"),
    ],
)
def test_a_start_that_is_not_possible_says_why(ada, shop, prepare, words):
    row = a_rollout(shop, state="approved", author=ada.user)
    prepare(row)
    answer = page(ada, row)
    assert (buttons(answer)["start"], words in text(answer)) == (("Start rollout", False), True)


def test_a_cluster_that_is_held_is_named(ada, cleo, shop):
    a_rollout(shop, state="running", title="The other one")
    row = a_rollout(shop, state="approved", author=ada.user)
    an_approval(row, cleo.user)
    assert "another rollout holds this cluster: The other one" in text(page(ada, row))


def test_a_run_shows_its_counters_with_their_age_and_what_is_blocked(ada, shop):  # R23
    row = a_rollout(shop, taint(), remove(), state="running", picture=a_picture(), waits_for="Node n-1 to go",
                    baseline={"batch": "s002", "picture": a_picture(pending_pods=1, legacy_nodes=12)})  # fmt: skip
    a_line(row)
    a_line(row, verb="gate", outcome="noop")
    a_line(row, "s002", verb="delete", path=NODE.path, outcome="", status=None, outcome_at=None)
    said = text(page(ada, row))
    for words in (
        "Progress 1 of 2", "Now Delete Node ip-10-0-0-1", "legacy nodes 7 was 12", "Pending pods 3 was 1",
        "Counted just now", "cart-0", "budget cart", "Waiting for: Node n-1 to go", "HTTP 200",
        "Sent, no answer yet : Delete Node ip-10-0-0-1",
    ):  # fmt: skip
        assert words in said
    assert buttons(page(ada, row)) == {
        "pause": ("Pause after this step", True), "abort": ("Abort", True),
    }  # fmt: skip


def test_a_picture_that_nobody_took_is_said(ada, shop):
    assert "Ready nodes" not in text(page(ada, a_rollout(shop, state="running")))


def test_uncounted_numbers_are_unknown(ada, shop):
    row = a_rollout(shop, state="running", picture=a_picture(legacy_nodes=None))
    assert "not counted" in text(page(ada, row))


def test_the_live_part_is_a_304_until_something_moves(ada, shop):
    row = a_rollout(shop, state="running", picture=a_picture())
    first = ada.get(f"/rollouts/{row.pk}/live")
    again = ada.get(f"/rollouts/{row.pk}/live", headers={"If-None-Match": first["ETag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    a_line(row)
    moved = ada.get(f"/rollouts/{row.pk}/live", headers={"If-None-Match": first["ETag"]})
    assert (moved.status_code, moved["X-Rollout-Version"], "<html" in moved.content.decode()) == (200, "1.0", False)


def test_an_outcome_and_an_approval_move_the_live_part(ada, shop, django_user_model):
    row = a_rollout(shop, state="running", picture=a_picture())
    line = a_line(row, outcome="", status=None, outcome_at=None)
    tags = [ada.get(f"/rollouts/{row.pk}/live")["ETag"]]
    Attempt.objects.filter(pk=line.pk).update(outcome="applied", outcome_at=timezone.now())
    tags.append(ada.get(f"/rollouts/{row.pk}/live")["ETag"])
    an_approval(row, django_user_model.objects.create_user("cleo"))
    tags.append(ada.get(f"/rollouts/{row.pk}/live")["ETag"])
    assert len(set(tags)) == 3


def test_the_live_part_is_drawn_once_for_all_who_watch(ada, shop):
    row = a_rollout(shop, state="running", picture=a_picture())
    with CaptureQueriesContext(connection) as drawn:
        first = ada.get(f"/rollouts/{row.pk}/live")
    with CaptureQueriesContext(connection) as shared:
        again = ada.get(f"/rollouts/{row.pk}/live")
    assert (again.status_code, again.content) == (200, first.content)
    plans = [any('"plan"' in query["sql"] for query in queries) for queries in (drawn, shared)]
    assert plans == [True, False]


def test_a_drawn_live_part_is_not_shown_to_whom_may_not_see_the_rollout(ada, shop, client, django_user_model):
    row = a_rollout(shop, state="running", picture=a_picture())
    ada.get(f"/rollouts/{row.pk}/live")
    client.force_login(
        django_user_model.objects.create_user("nobody"), backend="django.contrib.auth.backends.ModelBackend"
    )
    assert client.get(f"/rollouts/{row.pk}/live").status_code == 404


def test_what_needs_attention_asks_for_words(ada, shop):  # A09
    row = a_rollout(shop, state="needs_attention", cause_code="other_cluster", cause="another cluster answers")
    answer = page(ada, row)
    assert buttons(answer) == {"settle": ("Save", True)}
    assert "Cluster identity mismatch." in text(answer)


def test_what_ended_offers_its_rollback(ada, shop):  # A35
    row = a_rollout(shop, state="failed", author=ada.user)
    assert buttons(page(ada, row)) == {}
    a_line(row)
    assert buttons(page(ada, row)) == {"roll-back": ("Prepare rollback", True)}


def test_an_emergency_stays_marked(ada, shop, eve):  # A45
    row = a_rollout(shop, state="succeeded")
    an_approval(row, eve.user, break_glass=True, reason="the fleet was down")
    said = text(page(ada, row))
    assert ("alone (break glass)" in said, "the fleet was down" in said) == (True, True)
    assert "approved alone" in rows(ada.get("/rollouts/"))[0]


def test_lists_tell_what_waits_and_page_by_keys(ada, cleo, shop):
    other = a_cluster("other")
    waiting = a_rollout(other, state="awaiting_approval", author=ada.user, title="Waiting one")
    for number in range(51):
        a_rollout(shop, state="succeeded", title=f"Done {number}")
    said = ada.get("/rollouts/")
    assert (len(rows(said)), "Waiting for your approval" in text(said)) == (50, False)
    assert "Waiting for your approval 1" in text(cleo.get("/rollouts/"))
    following = next(link for link in links(said) if "cursor=" in link)
    assert len(rows(ada.get("/rollouts/" + following))) == 2
    assert f"/rollouts/{waiting.pk}/" in links(cleo.get("/rollouts/waiting"))
    assert [len(rows(ada.get(f"/rollouts/?state={name}"))) for name in ("planned", "under_way", "nonsense")] == [
        1,
        0,
        50,
    ]


def test_the_inbox_leaves_out_ones_own_and_what_one_approved(cleo, eve, shop):
    mine = a_rollout(shop, state="awaiting_approval", author=eve.user)
    an_approval(mine, cleo.user)
    assert "Nothing waits for you" in text(eve.get("/rollouts/waiting"))
    assert "Nothing waits for you" in text(cleo.get("/rollouts/waiting"))


def test_approvers_are_told_of_an_emergency(cleo, eve, shop):  # A45
    row = a_rollout(shop, state="approved", title="Sudden one")
    an_approval(row, eve.user, break_glass=True)
    said = text(cleo.get("/rollouts/waiting"))
    assert "Approved by one person (break glass) within the last week: Sudden one" in said


def test_the_cluster_offers_actions_with_their_reasons(ada, ben, shop):
    said = text(ada.get(f"/clusters/{shop.pk}/rollouts"))
    assert ("Actions for the upgrade to 0.32.10" in said, "Approvals required" in said) == (True, True)
    told = text(ben.get(f"/clusters/{shop.pk}/rollouts"))
    assert "Your account may not prepare plans" in told


def test_an_action_that_only_a_later_upgrade_needs_is_folded_away(ada, db):
    far = a_finding("hop_crds_installed", hop="0.33+", phase="crds", evidence_total=5)
    shop = a_cluster("shop-2")
    a_snapshot(shop, a_report(checks=(a_finding("y", hop="0.32", status="pass"), far)))
    said = text(ada.get(f"/clusters/{shop.pk}/rollouts"))
    places = [said.index(words) for words in ("Controller", "1 action for a later upgrade", "Upgrade 5 CRDs")]
    assert (places, "New CRDs" in said) == (sorted(places), False)


def test_where_checks_are_unknown_it_is_not_said_that_nothing_is_needed(ada, db):
    dark = a_cluster("dark")
    a_snapshot(dark, a_report(checks=(a_finding("helm_read", hop="1.0", status="unknown", summary="forbidden"),)))
    said = text(ada.get(f"/clusters/{dark.pk}/rollouts"))
    assert "1 check could not be answered, so other actions may be needed as well." in said
    assert ("No action needed" in said, "Not before it is known what blocks the upgrade." in said) == (False, True)


def test_the_controller_is_not_to_be_upgraded_while_something_blocks(ada, shop):
    assert "Not before every blocker is fixed." in text(ada.get(f"/clusters/{shop.pk}/rollouts"))


def test_a_plan_that_cannot_be_made_is_not_possible_and_keeps_its_choices(ada, shop):
    row = a_rollout(shop, state="expired", cause_code="bad_parameter", cause="batch: a whole number is wanted",
                    action="roll_nodes", digest="", parameters={"nodes": ["n-1"], "batch": 9})  # fmt: skip
    said = text(page(ada, row))
    assert ("Not possible" in said, "batch: a whole number is wanted" in said, "Expired" in said) == (True, True, False)
    again = f"/clusters/{shop.pk}/rollouts/new?action=roll_nodes&from={row.pk}"
    assert again in links(page(ada, row))
    form = ada.get(again).content.decode()
    assert ('value="9"' in form, 'type="number"' in form, "n-1" in form) == (True, True, True)
    assert rows(ada.get("/rollouts/")) == []
    assert "Finished 0" in text(ada.get(f"/clusters/{shop.pk}/rollouts"))


def test_the_choices_of_another_action_or_cluster_are_not_taken(ada, shop):
    other = a_rollout(a_cluster("other"), state="expired", action="roll_nodes", digest="", parameters={"batch": 9})
    form = ada.get(f"/clusters/{shop.pk}/rollouts/new?action=roll_nodes&from={other.pk}").content.decode()
    assert 'value="9"' not in form


def test_checklist_rows_offer_what_mends_them(ada, ben, shop):
    answer = ada.get(f"/clusters/{shop.pk}/")
    assert "Do it here" in text(answer)
    assert "Your account may not prepare plans" in text(ben.get(f"/clusters/{shop.pk}/"))


def test_a_sample_is_only_looked_at(ada, db):
    sample = a_cluster("demo", source="sample")
    a_snapshot(sample)
    assert "A sample is read-only." in text(ada.get(f"/clusters/{sample.pk}/rollouts"))


def test_the_kill_switch_stands_on_every_page_that_can_change_something(ada, ben, shop):  # A36
    KillSwitch.objects.create(on=True, why="pods are lost", by_name="gil", since=timezone.now())
    row = a_rollout(shop, author=ada.user)
    for path in (f"/rollouts/{row.pk}/", "/rollouts/", f"/clusters/{shop.pk}/", f"/clusters/{shop.pk}/rollouts",
                 f"/clusters/{shop.pk}/rollouts/new?action=taint_and_drift"):  # fmt: skip
        assert "Kill switch is on: all changes stopped. pods are lost" in text(ada.get(path))
    assert "pods are lost" not in text(ben.get(f"/clusters/{shop.pk}/"))


def test_hostile_names_stay_text(ada, shop):  # T08, T10
    evil = "<script>alert(1)</script>\u202e"
    row = a_rollout(shop, taint(title=evil), author=ada.user, title=evil, cause=evil, ticket=evil, note=evil)
    body = page(ada, row).content.decode()
    assert ("<script>alert" in body, "\u202e" in body, "\\u202e" in body) == (False, False, True)


def test_the_page_costs_the_same_for_few_and_many_steps(ada, shop, django_assert_max_num_queries):
    row = a_rollout(shop, *(taint() for _ in range(40)), author=ada.user)
    with django_assert_max_num_queries(22):
        page(ada, row)
    assert POOL.name == "default"


def test_the_preview_tells_room_for_the_new_nodes(ada, shop):
    short = CapacityLine(
        what="vcpus", name="On-Demand Standard", need=1600, free=12, standing="short", why="<b>628</b> of 640 used",
        code="L-1216C47A",
    )  # fmt: skip
    unknown = CapacityLine(
        what="addresses", name="", need=None, free=None, standing="unknown", why="AWS was not asked", part="aws.subnets"
    )
    enough = CapacityLine(what="pool", name="NodePool/web", need=8, free=100, standing="enough")
    plan = a_plan(shop, forecast=Forecast(nodes=3, capacity=(short, unknown, enough)))
    answer = page(ada, a_rollout(shop, plan_value=plan, author=ada.user))
    said = text(answer)
    for words in (
        "Room for the new nodes", "vCPU quota On-Demand Standard", "1,600", "too little", "<b>628</b> of 640 used",
        "Addresses in a zone that is not told", "AWS was not asked", "CPU limit of NodePool/ web", "enough",
        "Pools and AWS were read for this preview, made just now . What is used of a quota was measured by AWS",
    ):  # fmt: skip
        assert words in said
    assert "<b>628</b>" not in answer.content.decode()


def test_a_plan_that_replaces_no_node_has_no_word_of_room(ada, shop):
    assert "Room for the new nodes" not in text(page(ada, a_rollout(shop, author=ada.user)))
