"""Pages of campaigns: what each state shows and offers, what the forms do, and how many queries a big board takes."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from migrations_app.campaigns.burn_up import burn_up
from migrations_app.journeys.plan import COVERABLE
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.web.campaigns.pictures import burn_up_chart, window_days
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import entitled
from tests.builders.rows import a_cluster, a_snapshot

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)  # a Friday


@pytest.fixture
def woken(monkeypatch):
    """The campaigns that a worker was woken for."""
    found = []
    monkeypatch.setattr("migrations_app.web.campaigns.commands.enqueue_campaign", found.append)
    monkeypatch.setattr("migrations_app.web.campaigns.commands.enqueue_campaign_previews", found.append)
    return found


@pytest.fixture
def fleet():
    return [a_cluster(name, environment="dev") for name in ("blue", "green", "red")]


@pytest.fixture
def ada(client, django_user_model):
    user = entitled(django_user_model.objects.create_user("ada"), "operate_rollout", "view_cluster")
    client.force_login(user)
    return user


@pytest.fixture
def cleo(client, django_user_model):
    user = entitled(django_user_model.objects.create_user("cleo"), "approve_rollout", "view_cluster")
    client.force_login(user)
    return user


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def shown(client, row) -> str:
    answer = client.get(reverse("campaign", args=[row.pk]))
    assert answer.status_code == 200
    return text(answer)


def sent(client, name, row, **more):
    return client.post(reverse(f"campaign-{name}", args=[row.pk]), {"version": row.version, **more})


FORMS = {
    "previewed": {"ask", "reject"},
    "awaiting_approval": {"approve", "reject"},
    "approved": {"start", "reject"},
    "running": {"pause", "abort"},
    "paused": {"resume", "abort", "approve"},  # no approval holds: one may still be given
    "succeeded": set(),
    "aborted": set(),
}


@pytest.mark.parametrize("state", FORMS)
def test_each_state_offers_what_can_be_done_in_it(client, fleet, ada, state):
    row = a_campaign(*fleet, state=state, author=ada)
    page = shown(client, row)
    every = {"ask", "approve", "take-back", "reject", "start", "pause", "resume", "abort", "open-wave", "leave-out"}
    found = {name for name in every if f'action="{reverse(f"campaign-{name}", args=[row.pk])}"' in page}
    assert found == FORMS[state]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("awaiting_approval", "Another person reads the whole and the clusters below, and approves or rejects them."),
        ("approved", "It is approved: start it. Nothing is changed before."),
    ],
)
def test_each_state_says_what_is_next(client, fleet, ada, state, words):
    assert words in shown(client, a_campaign(*fleet, state=state, author=ada))


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"cause_code": "asked"}, "Requested by a person."),
        ({"cause_code": "right_missing", "cause": "blue", "needs_person": True},
         "An account lacks a permission over it: blue."),
    ],
)  # fmt: skip
def test_a_paused_campaign_says_why_and_what_can_be_done(client, fleet, ada, columns, cause):
    page = shown(client, a_campaign(*fleet, state="paused", author=ada, **columns))
    words = (cause, "It is paused, and begins no other cluster: resume it, or end it.")
    assert [text for text in words if text in page] == list(words)
    ended = shown(client, a_campaign(*fleet, state="aborted", author=ada, cause_code="asked", cause="not needed"))
    assert ("Requested by a person: not needed." in ended, words[1] in ended) == (True, False)


def test_the_preview_tells_the_whole_and_who_cannot_join(client, fleet, ada):
    row = a_campaign(*fleet, author=ada, size=2)
    CampaignMember.objects.filter(cluster_name="red").update(state="out", cause_code="scan_old", target_release="")
    Campaign.objects.filter(pk=row.pk).update(forecast=row.forecast | {"left_out": 1, "causes": {"scan_old": 1}})
    page = shown(client, row)
    assert "its newest scan is older than a day" in page
    whole = page[page.index("The whole") :]
    assert whole.index("Nodes replaced") < whole.index("18") < whole.index("Pods in these clusters")  # 6 of each
    assert "1 person" in whole


def test_the_board_has_a_line_for_each_cluster(client, fleet, ada):
    row = a_campaign(*fleet, state="running", author=ada)
    journey = a_journey(fleet[0], state="running", at=2, wait_code="work_outside", needs_person=True)
    CampaignMember.objects.filter(cluster_name="blue").update(state="running", journey=journey)
    page = shown(client, row)
    assert reverse("journey", args=[journey.pk]) in page
    assert "waits for the work to be done with your own tool" in page
    assert "2 of 4" in page
    assert [page.count(f"</svg>{word}</span>") for word in ("In progress", "Waiting")] == [1, 2]


def test_a_stopped_cluster_is_settled_from_the_page(client, fleet, ada, woken, django_capture_on_commit_callbacks):
    row = a_campaign(*fleet, state="paused", author=ada, cause_code="not_seen", needs_person=True)
    CampaignMember.objects.filter(cluster_name="blue").update(
        state="stopped", cause_code="journey_aborted", hops_left=0
    )
    member = CampaignMember.objects.get(cluster_name="blue")
    assert "Its upgrade was ended by a person" in shown(client, row)
    with django_capture_on_commit_callbacks(execute=True):
        assert sent(client, "try-again", row, member=member.pk).status_code == 302
    member.refresh_from_db()
    assert (member.state, woken) == ("waiting", [row.pk])
    assert sent(client, "leave-out", row, member=member.pk, reason="").status_code == 400
    assert sent(client, "leave-out", row, member=4711, reason="x").status_code == 400
    assert sent(client, "leave-out", row, member=member.pk, reason="rebuilt").status_code == 302
    member.refresh_from_db()
    assert (member.state, member.cause) == ("out", "rebuilt")


def test_a_step_is_retried_from_the_page_only_where_one_failed(client, fleet, ada):
    row = a_campaign(*fleet, state="paused", author=ada, cause_code="journey_stopped", needs_person=True)
    journey = a_journey(fleet[0], state="paused", at=1, cause_code="plan_differs")
    CampaignMember.objects.filter(cluster_name="blue").update(
        state="stopped", cause_code="journey_stopped", journey=journey
    )
    again = reverse("campaign-try-again", args=[row.pk])
    page = shown(client, row)
    assert (again in page, "No step of it failed" in page, reverse("journey", args=[journey.pk]) in page) == (
        False, True, True,
    )  # fmt: skip
    journey.steps.filter(place=1).update(state="failed")
    page = shown(client, row)
    assert (again in page, "Retry its step and resume" in page, "No step of it failed" in page) == (True, True, False)


def test_a_wave_is_opened_with_a_note(client, fleet, ada, woken):
    row = a_campaign(*fleet, state="running", author=ada, wait_code="person", needs_person=True)
    page = shown(client, row)
    assert "Open wave 2 with 1 cluster" in page
    assert sent(client, "open-wave", row, wave=3, note="x").status_code == 409
    assert sent(client, "open-wave", row, wave=2, note="calm").status_code == 302
    wave = row.waves.get(number=1)
    assert (wave.agreed_by, wave.note, wave.opened_at) == ("ada", "calm", None)


def test_a_campaign_is_made_from_the_form(client, fleet, ada, woken, django_capture_on_commit_callbacks):
    page = text(client.get(reverse("campaign-new")))
    assert "New campaign" in page
    assert [limit for limit in COVERABLE if f'value="{limit}" selected' in page] == ["medium"]
    wanted = {
        "name": "to 1.0", "to": "1.0", "waves": "1, rest", "windows": "Mon-Fri 22:00-04:00", "environments": "dev",
        "per_region": "2", "gate_minutes": "30", "person": "every", "source": "karpenter-1.0.14",
    }  # fmt: skip
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(reverse("campaign-create"), wanted)
    row = Campaign.objects.get()
    assert (answer.status_code, answer.url, woken) == (302, f"/campaigns/{row.pk}/", [row.pk])
    assert (row.recipe["waves"], row.recipe["to"], row.recipe["gates"]["soak_seconds"]) == ([1, 0], "1.0", 1800)
    assert row.recipe["covers"] == "medium"
    assert row.recipe["windows"] == [{"days": [0, 1, 2, 3, 4], "from": "22:00", "to": "04:00"}]
    assert row.members.count() == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", " "), ("to", "soon"), ("waves", "one"), ("labels", "team"), ("windows", "always"), ("at_once", "0"),
        ("covers", "destructive"), ("person", "x"), ("environments", "none"), ("minutes", "-1"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_and_kept(client, fleet, ada, field, value):
    said = {"name": "kept", "ticket": "CHG-1", "covers": "high", field: value}
    answer = client.post(reverse("campaign-create"), said)
    assert answer.status_code == 400
    assert 'value="CHG-1"' in text(answer)
    assert ('value="high" selected' in text(answer)) is (said["covers"] == "high")
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (
            "minutes",
            "-1",
            "“Minutes that a new release runs before the work after it on the same cluster” takes a whole",
        ),
        ("per_region", "two", "“At once in one region” takes a whole number"),
        ("waves", "one", "“Clusters in each wave” takes sizes such as 1, 5, rest"),
        ("labels", "team", "“Labels” takes pairs such as team=pay"),
    ],
)
def test_what_cannot_be_read_is_named_as_on_the_form(client, fleet, ada, field, value, words):
    answer = text(client.post(reverse("campaign-create"), {"name": "kept", field: value}))
    assert (words in answer, words.split("”")[0].removeprefix("“") + "</label>" in answer) == (True, True)


def test_a_long_list_of_groups_says_what_it_leaves_out_and_is_searched(client, fleet, ada, monkeypatch):
    monkeypatch.setattr("migrations_app.web.campaigns.pages.MAX_GROUPS_OFFERED", 2)
    made = {name: ClusterGroup.objects.create(name=name) for name in ("pay", "search", "shop", "shop-eu")}

    def offered(answer):
        return [name for _, name in answer.context["offered"].groups]

    whole = client.get("/campaigns/new")
    assert offered(whole) == ["pay", "search"]
    assert "2 more groups are not in this list" in whole.content.decode()
    found = client.get("/campaigns/new?q=SHOP")
    assert (offered(found), "not in this list" in found.content.decode()) == (["shop", "shop-eu"], False)
    none = client.get("/campaigns/new?q=nowhere").content.decode()
    assert "No group has such a name." in none
    refused = client.post("/campaigns/create", {"groups": [str(made["shop-eu"].pk), "no id"], "form_key": "k"})
    assert offered(refused) == ["pay", "search", "shop-eu"]


def test_a_short_list_of_groups_has_no_search(client, fleet, ada):
    ClusterGroup.objects.create(name="pay")
    page = client.get("/campaigns/new").content.decode()
    assert ("Search groups" in page, "not in this list" in page) == (False, False)


def test_an_approver_types_the_name(client, fleet, cleo, woken):
    row = a_campaign(*fleet, state="awaiting_approval")
    told = {"digest": row.digest, "nonce": row.nonce}
    assert sent(client, "approve", row, **told).status_code == 400
    assert sent(client, "approve", row, **told, typed="to v1").status_code == 302
    row.refresh_from_db()
    assert row.state == "approved"
    assert "Withdraw my approval" in shown(client, row)
    assert sent(client, "take-back", row).status_code == 302
    row.refresh_from_db()
    assert row.state == "awaiting_approval"
    assert "no longer counts" in shown(client, row)


def test_the_live_part_is_sent_once(client, fleet, ada):
    row = a_campaign(*fleet, state="running", author=ada)
    url = reverse("campaign-live", args=[row.pk])
    first = client.get(url)
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 304
    CampaignMember.objects.filter(cluster_name="blue").update(state="running")
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_the_receipt_names_people_waves_and_clusters(client, ada):
    odd = a_cluster("blue|*x*")
    row = a_campaign(odd, state="succeeded", author=ada, ticket="CHG-7", finished_at=timezone.now())
    answer = client.get(reverse("campaign-receipt", args=[row.pk]))
    told = answer.content.decode()
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert ("CHG-7" in told, "blue\\|\\*x\\*" in told, row.digest in told, "| Clusters done | 1 of 1 |" in told) == (
        True, True, True, True,
    )  # fmt: skip


def test_a_hostile_name_stays_text_in_the_receipt(client, ada):  # it would mention people in a ticket, and turn around
    row = a_campaign(a_cluster("@ops ![x](y) ~a~ $b$ &lt; \u202ex"), state="succeeded", author=ada)
    told = client.get(reverse("campaign-receipt", args=[row.pk])).content.decode()
    assert r"| \@ops \!\[x\](y) \~a\~ \$b\$ \&lt; \\u202ex |" in told


def test_the_calendar_shows_the_windows_of_two_weeks(client, fleet, ada):
    row = a_campaign(*fleet, author=ada)
    windows = [{"days": [0, 1, 2, 3, 4], "from": "22:00", "to": "04:00"}]
    Campaign.objects.filter(pk=row.pk).update(recipe=row.recipe | {"windows": windows})
    page = text(client.get(reverse("campaign-calendar")))
    assert "22:00-24:00" in page
    days = window_days(windows, now=NOW)
    assert [one.open for one in days[:4]] == [
        ("00:00-04:00", "22:00-24:00"), ("00:00-04:00",), (), ("22:00-24:00",),
    ]  # fmt: skip
    assert {one.all_day for one in window_days((), now=NOW)} == {True}


def test_the_burn_up_leads_to_its_projected_end():
    ended = [NOW + timedelta(minutes=30), NOW + timedelta(minutes=60)]
    now = NOW + timedelta(minutes=60)
    chart = burn_up_chart(burn_up(began=NOW, ended=ended, total=4, now=now), now=now)
    assert (chart.done.count("L"), chart.now) == (5, 500.0)
    assert chart.ahead == "M500.0 153.0L1000.0 6.0"
    assert [word for _, word in chart.counts] == ["4", "2", "0"]
    assert burn_up_chart(burn_up(began=None, ended=[], total=4, now=now), now=now) is None


def test_the_board_takes_as_many_queries_for_a_thousand_clusters(client, ada):
    """The number of queries does not grow with the campaign."""
    counts = []
    for size in (20, 1000):
        clusters = Cluster.objects.bulk_create(
            Cluster(name=f"c{size}-{n:04}", source="kubeconfig") for n in range(size)
        )
        row = a_campaign(*clusters, state="running", author=ada, size=100)
        one = a_journey(clusters[0], state="running", at=1)
        CampaignMember.objects.filter(cluster=clusters[0]).update(journey=one, state="running")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            shown(client, row)
        counts.append(len(queries))
    assert counts[0] == counts[1], counts
    assert counts[1] <= 40


def test_who_sees_one_group_sees_no_name_of_another(client, django_user_model):  # T11
    from migrations_app.models.account import Grant

    mine, other = a_cluster("mine"), a_cluster("secret-name")
    a_snapshot(mine)
    group = ClusterGroup.objects.create(name="team")
    group.clusters.add(mine)
    user = django_user_model.objects.create_user("gil")
    Grant.objects.create(person=user, role="operator", over=group)
    client.force_login(user)
    row = a_campaign(mine, other, state="approved")
    page = shown(client, row)
    assert ("mine" in page, "secret-name" in page, "1 more cluster that your account may not see" in page) == (
        True, False, True,
    )  # fmt: skip
    refused = sent(client, "start", row, digest=row.digest)
    assert (refused.status_code, "confirm that the change begins now" in text(refused)) == (400, True)
    answer = sent(client, "start", row, digest=row.digest, confirmed="yes")
    assert (answer.status_code, "secret-name" in text(answer)) == (403, False)
