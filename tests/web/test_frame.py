"""What stands around every page: rollouts in progress, search, version, errors, static files and compression."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from migrations_app.models.policy import KillSwitch
from migrations_app.queries.glossary import term
from migrations_app.web.search import PAGES as PAGES_FOUND
from migrations_app.web.urls import urlpatterns
from tests.builders.rollouts import a_line, a_rollout, remove, taint
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
PAGES = (
    "/", "/fleet/causes", "/burndown", "/groups/", "/waivers/", "/audit", "/catalogue/", "/convert", "/settings/tokens",
    "/settings/people", "/clusters/new", "/search", "/rollouts/", "/policy",
)  # fmt: skip


TEMPLATES = tuple((Path(__file__).parents[2] / "templates").rglob("*.html"))


@pytest.fixture
def shop(db):
    cluster = a_cluster("shop")
    a_snapshot(cluster)
    return cluster


@pytest.mark.parametrize("path", PAGES)
def test_the_kill_switch_and_a_paused_rollout_show_on_every_page(ada, shop, path):  # A36
    KillSwitch.objects.create(on=True, why="pods are lost", by_name="gil", since=timezone.now())
    row = a_rollout(shop, taint(), remove(), remove(), state="paused", title="Roll nodes")
    page = ada.get(path)
    said = text(page)
    assert "Kill switch is on: all changes stopped. pods are lost" in said
    assert "Paused Roll nodes on shop step 1 of 3" in said
    assert f"/rollouts/{row.pk}/" in links(page)
    assert "Rollouts 1 in progress or waiting" in said


@pytest.mark.parametrize(("verbs", "step"), [(["patch"], 1), (["patch", "gate"], 2), (["patch", "gate", "skip"], 3)])
def test_the_strip_and_the_page_name_the_same_step(ada, shop, verbs, step):
    row = a_rollout(shop, taint(), remove(), remove(), state="paused")
    for verb in verbs:
        a_line(row, "s002" if verb == "skip" else "s001", verb=verb)
    assert f"step {step} of 3" in text(ada.get("/audit"))
    assert f"Resume (step {step} of 3)" in text(ada.get(f"/rollouts/{row.pk}/"))


def test_a_rollout_that_passed_its_last_gate_is_at_its_last_step(ada, shop):
    a_line(a_rollout(shop, state="running"), verb="gate")
    assert "step 1 of 1" in text(ada.get("/audit"))


def test_a_plan_that_waits_shows_to_those_who_can_approve_it_only(ada, ben, shop):
    a_rollout(shop, state="awaiting_approval")
    assert "1 plan waits for your approval" in text(ada.get("/"))
    assert "for your approval" not in text(ben.get("/"))


def test_nothing_stands_there_when_nothing_is_in_progress(ada, shop):
    a_rollout(shop, state="succeeded")
    assert 'class="strip"' not in ada.get("/").content.decode()


def test_search_finds_clusters_checks_actions_and_pages(ada, shop):
    found = ada.get("/search?q=shop")
    assert f"/clusters/{shop.pk}/" in links(found)
    assert "/catalogue/#legacy_machines_gone" in links(ada.get("/search?q=machines gone"))
    assert "/catalogue/?q=roll_nodes" in links(ada.get("/search?q=roll_nodes"))
    assert "/burndown" in links(ada.get("/search"))
    assert "Nothing found for “zzzz”" in text(ada.get("/search?q=zzzz"))


def test_every_page_that_stands_for_itself_is_found_by_who_may_open_it(ada, ben):
    plain = [route.name for route in urlpatterns if not route.pattern.converters]
    there = {name for name in plain if b"<!DOCTYPE html>" in (got := ada.get(reverse(name))).getvalue()[:200]
             and got.status_code == 200}  # fmt: skip
    found = set(links(ada.get("/search")))
    assert {name for name in there if reverse(name) not in found} == {"sign-in-again"}
    offered = {reverse(name) for _, name in PAGES_FOUND} & set(links(ben.get("/search")))
    assert {path for path in offered if ben.get(path).status_code != 200} == set()
    assert reverse("people") not in offered


def test_a_word_is_found_with_its_meaning_and_pages_lead_to_it(ada, shop):
    found = ada.get("/search?q=no return")
    assert "/glossary#point-of-no-return" in links(found)
    assert "after which a rollback is not possible" in text(found)
    page = ada.get("/glossary")
    assert page.content.decode().count("<h1>") == 1
    told = {href for href in links(ada.get(f"/clusters/{shop.pk}/")) if href.startswith("/glossary#")}
    assert {"/glossary#blocker", "/glossary#unknown", "/glossary#verify-manually"} <= told
    assert {href for href in told if f'id="{href.partition("#")[2]}"' not in page.content.decode()} == set()


def test_what_authors_never_write_is_not_in_the_glossary_of_the_page(ada):
    said = text(ada.get("/glossary"))
    assert ("What we never say" in said, "approve, reject" in said) == (False, True)


def test_every_word_that_a_template_leads_to_has_a_meaning():
    asked = [word for path in TEMPLATES for word in re.findall(r'{% term "([^"]+)"', path.read_text())]
    assert len(set(asked)) > 8
    assert {word for word in asked if not term(word).meaning} == set()


def test_the_palette_gets_the_list_alone(ada, shop):
    answer = ada.get("/search?q=shop", headers={"HX-Request": "true"})
    assert ("<html" in answer.content.decode(), f"/clusters/{shop.pk}/" in links(answer)) == (False, True)


def test_the_foot_names_version_and_api(ada):
    page = ada.get("/")
    assert "karpdash 0." in text(page)
    docs = "https://github.com/karpdash/karpdash/tree/main/docs"
    assert {"/api/v1/docs/", docs} <= set(links(page))


def test_errors_keep_the_frame_and_tell_nothing(ada, dan, shop):
    a_rollout(shop, state="paused", title="Roll nodes")
    lost = ada.get("/nowhere")
    assert (lost.status_code, "Page not found" in text(lost), "/rollouts/" in links(lost)) == (404, True, True)
    unknown = dan.get("/nowhere")
    assert ("Page not found" in text(unknown), "/rollouts/" in links(unknown)) == (True, False)
    assert "Roll nodes" not in text(unknown)


def test_static_files_have_hashed_addresses_and_are_kept_and_compressed(ada):
    style = next(link for link in links(ada.get("/")) if "karpdash.css" in link)
    assert len(style.partition("?v=")[2]) == 12
    answer = Client().get(style, headers={"Accept-Encoding": "gzip"})
    assert (answer["Content-Encoding"], "max-age=86400" in answer["Cache-Control"]) == ("gzip", True)
    assert b"".join(answer.streaming_content).startswith(b"\x1f\x8b")
    answer.close()


def test_a_file_that_another_release_named_is_not_kept(ada):  # R27
    style = next(link for link in links(ada.get("/")) if "karpdash.css" in link)
    answer = Client().get(style[:-12] + "0" * 12)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    answer.close()
    assert Client().get(style.replace("karpdash.css", "no-such.css")).status_code == 404


def test_pages_are_compressed_and_the_api_is_exact(ada):
    page = ada.get("/catalogue/", headers={"Accept-Encoding": "gzip"})
    assert (page["Content-Encoding"], len(page.content) < 60_000) == ("gzip", True)
    answer = ada.get("/api/v1/clusters/", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer


def test_what_worked_leaves_and_what_failed_stays_until_it_is_closed(ada, shop):
    """Without the script both stay: whether a message leaves is only told to the script."""
    worked = ada.post("/fleet/views", {"name": "mine", "query": "q=shop"}, follow=True).content.decode()
    failed = ada.post("/fleet/views", {"name": "", "query": "q=shop"}, follow=True).content.decode()
    assert ("View mine saved." in worked, "The view was not saved" in failed) == (True, True)
    assert ("data-leaves" in worked, "data-leaves" in failed) == (True, False)
    assert [page.count('data-act="close-toast"') for page in (worked, failed)] == [1, 1]
    assert 'class="banner is-blocker"' in failed


CRUMBS = {
    "/settings/tokens": "Fleet API tokens", "/settings/people": "Fleet People and roles",
    "/settings/services": "Fleet Service accounts", "/settings/feeds": "Fleet Feed links",
    "/settings/notifications": "Fleet Notifications", "/settings/repositories": "Fleet Repositories",
    "/journeys/": "Rollouts Upgrades step by step", "/campaigns/": "Rollouts Campaigns",
    "/rollouts/waiting": "Rollouts Waiting for your approval",
}  # fmt: skip


@pytest.mark.parametrize("path", CRUMBS)
def test_pages_below_another_one_say_where_they_are(ada, path):
    assert f"{CRUMBS[path]} " in text(ada.get(path))


def marked(page) -> str:
    """The entry of the main navigation that is marked as the current one."""
    nav = page.content.decode().partition('aria-label="Main"')[2].partition("</nav>")[0]
    found = re.search(r'aria-current="page"[^>]*>([A-Z][a-z]+)', nav)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("path", ["", "rollouts", "rollouts/new?action=roll_nodes", "policy", "journey", "waivers"])
def test_every_page_of_a_cluster_is_below_the_fleet(ada, shop, path):
    assert (marked(ada.get(f"/clusters/{shop.pk}/{path}")), marked(ada.get("/rollouts/"))) == ("Fleet", "Rollouts")
