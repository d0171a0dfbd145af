"""The audit page: filters, pages, what it says of the chain, exports."""

import csv
import io
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from migrations_app.audit_verify import verify
from migrations_app.models.audit import AuditEvent
from migrations_app.use_cases.audit import checkpoint_delivery
from migrations_app.use_cases.audit.log import Actor
from tests.builders.rows import NOW, a_cluster
from tests.session import guards
from tests.use_cases.audit.signed_log import with_sinks, write
from tests.web.conftest import PASSWORD
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert(1)</script>"onclick=\u202e'


def numbers(answer) -> list[int]:
    return [int(row.split()[0]) for row in rows(answer)]


def test_an_empty_log_says_so(ada):
    assert "Nothing has happened yet" in text(ada.get("/audit"))


def test_events_newest_first_with_who_what_and_where(ada):
    cluster = a_cluster("shop")
    write(verb="scan.requested", object="cleo", cluster_id=str(cluster.pk), outcome="done", detail={"scan": "5"})
    write(verb="policy.changed", actor=Actor(name="ada", method="token", token_id="t"), detail={"low": [0, 1]})
    answer = ada.get("/audit")
    assert numbers(answer) == [2, 1]
    assert "cleo on shop Details" in rows(answer)[1]
    assert "low [0, 1]" in rows(answer)[0]
    assert "2 events" in text(answer)


@pytest.mark.parametrize("verb", ["scan.requested", "step.outcome"])
def test_each_row_has_its_time_with_seconds_and_zone(ada, verb):
    """A pointer over the words is not all that people have."""
    write(2, verb=verb, plan_digest="d" * 64 if verb == "step.outcome" else "")
    assert f"{NOW:%Y-%m-%d %H:%M:%S} UTC" in rows(ada.get("/audit"))[0]


def test_events_are_told_in_sentences(ada):
    write(verb="scan.requested", actor=Actor(name="bob"), outcome="done")
    write(verb="strange.thing_done", outcome="noop")
    assert "bob session requested a scan scan.requested" in rows(ada.get("/audit"))[1]
    assert "strange: thing done" in rows(ada.get("/audit"))[0]
    assert rows(ada.get("/audit"))[0].endswith("no change needed")


def test_the_steps_of_a_rollout_are_one_row_until_each_is_asked_for(ada):
    cluster = a_cluster("shop")
    write(verb="rollout.running", plan_digest="d" * 64, cluster_id=str(cluster.pk))
    write(4, verb="step.outcome", plan_digest="d" * 64, cluster_id=str(cluster.pk), step="s001")
    write(2, verb="step.outcome", plan_digest="e" * 64, cluster_id=str(cluster.pk), step="s001")
    folded = ada.get("/audit")
    assert numbers(folded) == [7, 6, 5, 1]
    assert "executed a rollout on shop : 4 events of its steps" in rows(folded)[2]
    assert numbers(ada.get("/audit", {"every": "1"})) == [7, 6, 5, 4, 3, 2, 1]


def test_today_and_yesterday_are_one_click(ada):
    write()
    page = ada.get("/audit")
    assert {"?since=2026-11-21&until=2026-11-21", "?since=2026-11-20&until=2026-11-20"} <= set(links(page))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"verb": "rollout"}, [3, 2]),
        ({"verb": "rollout.approved"}, [3]),
        ({"verb": "roll"}, []),
        ({"actor": "bob"}, [2]),
        ({"q": "shop blue"}, [3]),
        ({"q": "why-so"}, [1]),
        ({"plan": "sha256:ddd"}, [3]),
        ({"correlation": "r-9"}, [2]),
        ({"outcome": "refused"}, [1]),
        ({"cluster": "c-1"}, [2]),
        ({"since": "2099-01-01"}, []),
        ({"until": "2020-01-01"}, []),
        ({"since": "nonsense"}, [3, 2, 1]),
        ({"q": "\x00"}, [3, 2, 1]),
    ],
)
def test_filters(ada, query, expected):
    write(verb="token.made", outcome="refused", detail={"why": "why-so"})
    write(verb="rollout.running", actor=Actor(name="bob"), correlation="r-9", cluster_id="c-1")
    write(verb="rollout.approved", object="Taint blue of shop", plan_digest="d" * 64)
    assert numbers(ada.get("/audit", query)) == expected


def test_a_day_that_is_none_is_told(ada):
    assert "“until” is not a date (YYYY-MM-DD); ignored." in text(ada.get("/audit", {"until": "31.1.2026"}))


def test_days_hold_whole_days(ada):
    write()
    day = f"{NOW:%Y-%m-%d}"
    assert numbers(ada.get("/audit", {"since": day, "until": day})) == [1]
    assert numbers(ada.get("/audit", {"until": f"{NOW - timedelta(days=1):%Y-%m-%d}"})) == []


def test_pages_lose_and_repeat_nothing(ada):
    write(120)
    walked, address = [], "/audit"
    while address:
        answer = ada.get(address)
        walked += numbers(answer)
        address = next((f"/audit{link}" for link in links(answer) if link.startswith("?cursor=")), "")
    assert walked == list(range(120, 0, -1))


@pytest.mark.parametrize("cursor", ["nonsense", "WzEsMl0", "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMF0"])
def test_a_strange_cursor_is_the_first_page(ada, cursor):
    write(3)
    assert numbers(ada.get("/audit", {"cursor": cursor})) == [3, 2, 1]


def test_hostile_text_is_text(ada):  # T08, T10
    names = dict.fromkeys(("object", "outcome", "step", "correlation", "plan_digest", "cluster_id"), HOSTILE)
    write(actor=Actor(name=HOSTILE), detail={HOSTILE: [HOSTILE]}, **names)
    searched = ada.get("/audit", {"q": HOSTILE, "verb": HOSTILE, "cluster": HOSTILE}).content.decode()
    whole = ada.get("/audit").content.decode()
    assert "<script>alert" not in searched + whole
    assert "\u202e" not in whole
    assert "&lt;script&gt;alert(1)" in whole


def test_the_limit_is_said_openly_where_no_sink_is_set(ada):  # A57
    write()
    said = text(ada.get("/audit"))
    assert "Verified on 21 Nov 2026, 12:00 UTC : event 1. Its hash is right." in said
    assert ("matches the checkpoint" in said, "were not verified" in said) == (False, False)
    assert "No external checkpoint." in said
    assert "Checkpoints are not signed." in said


def test_the_state_of_the_chain_and_of_a_sink(ada, settings, tmp_path):  # A53, A57
    with_sinks(settings, file=str(tmp_path / "outside.jsonl"))
    write(130)
    checkpoint_delivery.sign_and_deliver()
    said = text(ada.get("/audit"))
    assert (
        "Verified on 21 Nov 2026, 12:00 UTC : events 100 to 130. The hash of each event is right, and each event names "
        "the hash of the event before it. Event 100 matches the checkpoint that was signed just now . "
        "Events before 100 were not verified for this page. To verify all events, run karpdash audit verify ."
    ) in said
    assert "vouches for events up to 100, last received just now" in said.replace("now ;", "now;")
    assert "someone with access to the database and the signing key" in said


def test_a_sink_that_stops_everything_is_an_alarm(ada, settings, tmp_path):  # A55, R30
    with_sinks(settings, file=str(tmp_path / "none" / "outside.jsonl"))
    write(1001)
    checkpoint_delivery.sign_and_deliver()
    said = text(ada.get("/audit"))
    assert "Changes blocked: audit sink is behind." in said
    assert "The file cannot be written: No such file or directory" in said


def test_a_broken_log_is_an_alarm(ada):  # T26
    write(9)
    with guards.triggers_off():
        AuditEvent.objects.filter(pk=4).update(actor="mallory")
    assert "The log is broken at event 4." in text(ada.get("/audit"))


def test_the_export_can_be_proven(ada):  # A54
    write(30)
    answer = ada.get(reverse("audit-jsonl"))
    assert answer["Content-Type"] == "application/x-ndjson"
    assert 'filename="karpdash-audit.jsonl"' in answer["Content-Disposition"]
    assert verify(b"".join(answer.streaming_content).splitlines(keepends=True)).events == 30


def test_the_csv_holds_no_formula_and_keeps_the_filters(ada):
    write(object="=HYPERLINK(1)", verb="token.made")
    write(verb="scan.requested")
    answer = ada.get(reverse("audit-csv"), {"verb": "token"})
    found = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [(row["seq"], row["object"]) for row in found] == [("1", "'=HYPERLINK(1)")]


@pytest.mark.parametrize("name", ["audit", "audit-jsonl", "audit-csv"])
def test_only_who_may_read_the_log_reads_it(ben, dan, name):
    write()
    assert ben.get(reverse(name)).status_code == 403
    assert dan.get(reverse(name)).status_code == 302
    assert "/audit" not in links(ben.get("/"))


def signed(verb):
    return [(row.actor, row.object[:5], row.outcome, row.address) for row in AuditEvent.objects.filter(verb=verb)]


def test_who_signs_in_and_who_is_refused_is_recorded(dan, db, settings):
    get_user_model().objects.create_user("eve", password=PASSWORD)
    dan.post("/login", {"username": "eve", "password": "wrong"})
    dan.post("/login", {"username": "eve's password", "password": "wrong"})
    dan.post("/login", {"username": "eve", "password": PASSWORD})
    assert signed("sign_in.refused") == [
        ("unknown", "hmac:", "refused", "127.0.0.1"), ("eve", "eve", "refused", "127.0.0.1"),
    ]  # fmt: skip
    assert signed("sign_in.done") == [("eve", "eve", "done", "127.0.0.1")]
    fresh = {
        "old_password": PASSWORD,
        "new_password1": "another quiet river 7",
        "new_password2": "another quiet river 7",
    }
    dan.post("/password", fresh)
    assert signed("account.password_changed") == [("eve", "eve", "done", "127.0.0.1")]


def test_a_name_that_is_locked_is_recorded_as_that(dan, db, settings):  # T28
    get_user_model().objects.create_user("eve", password=PASSWORD)
    settings.AXES_FAILURE_LIMIT = 2
    for _ in range(3):
        dan.post("/login", {"username": "eve", "password": "wrong"})
    assert [outcome for _, _, outcome, _ in signed("sign_in.refused")] == ["locked", "locked", "refused"]


def test_what_a_page_changes_is_recorded_with_its_person(ada, woken):
    cluster = a_cluster("shop")
    ada.post(f"/clusters/{cluster.pk}/scan")
    (event,) = AuditEvent.objects.filter(verb="scan.requested")
    assert (event.actor, event.method, event.cluster_id) == ("ada", "session", str(cluster.pk))


def test_the_menu_leads_there(ada):
    assert "/audit" in links(ada.get("/"))


def test_the_page_asks_the_database_no_more_with_more_events(ada, django_assert_max_num_queries):
    write(60)
    with django_assert_max_num_queries(14):
        assert len(rows(ada.get("/audit"))) == 50
