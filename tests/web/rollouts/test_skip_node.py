"""Skipping a node from the page and over REST: who decided it stands beside the node, and it is not counted as done."""

import pytest

from migrations_app.models.audit import AuditEvent
from migrations_app.models.rollout import NodeSkip
from tests.api.conftest import Tool
from tests.builders.rollouts import a_line, a_rollout, remove, taint
from tests.web.pages import text

pytestmark = pytest.mark.django_db
WHY = "its team drains it on Monday"
NAME = "ip-10-0-0-1"


def skip(who, row, step="s002", **said):
    return who.post(f"/rollouts/{row.pk}/skip-node", {"version": row.version, "step": step, "reason": WHY} | said)


def page(who, row):
    return who.get(f"/rollouts/{row.pk}/")


def test_a_step_about_a_node_offers_it_while_the_rollout_is_under_way(ada, ben, shop):
    row = a_rollout(shop, taint(), remove(), state="paused", author=ada.user)
    body = page(ada, row).content.decode()
    assert (body.count("/skip-node"), 'value="s002"' in body) == (1, True)
    assert "Skip this node" in body
    assert "lock" in page(ben, row).content.decode().partition("Skip this node")[2][:400]
    assert "/skip-node" not in page(ada, a_rollout(shop, remove(), state="approved")).content.decode()


def test_a_node_whose_deletion_was_sent_offers_nothing(ada, shop):
    row = a_rollout(shop, taint(), remove(), state="paused", author=ada.user)
    a_line(row, "s002", verb="delete", outcome="", outcome_at=None)
    assert "/skip-node" not in page(ada, row).content.decode()
    refused = skip(ada, row)
    assert (refused.status_code, "node_sent" in text(refused)) == (409, True)


def test_who_skipped_it_and_why_stands_on_the_page_and_in_the_receipt(ada, shop, woken):  # A51
    row = a_rollout(shop, taint(), remove(), state="paused", author=ada.user)
    assert skip(ada, row).status_code == 302
    assert woken == [(row.pk, "advance_rollout")]
    a_line(row, "s001")
    a_line(row, "s001", verb="gate", outcome="noop")
    a_line(row, "s002", verb="skip", outcome="noop", reason=f"skipped by ada: {WHY}")
    a_line(row, "s002", verb="gate", outcome="noop")
    said = text(page(ada, row))
    for words in (f"Node {NAME} is skipped, by ada", WHY, "1 step left out, and not done", "1 of 2"):
        assert words in said, words
    assert AuditEvent.objects.get(verb="rollout.node_skipped").actor == "ada"
    type(row).objects.filter(pk=row.pk).update(state="running")
    type(row).objects.filter(pk=row.pk).update(state="succeeded", finished_at=row.made_at)
    told = ada.get(f"/rollouts/{row.pk}/receipt.md").content.decode()
    assert f"| Nodes skipped | {NAME} (ada: {WHY}) |" in told
    assert "| Steps done | 1 of 2 |" in told


def test_without_a_reason_or_the_right_nothing_is_skipped(ada, ben, shop):
    row = a_rollout(shop, taint(), remove(), state="running", author=ada.user)
    assert [skip(ada, row, reason=" ").status_code, skip(ada, row, step="s001").status_code] == [400, 400]
    assert skip(ben, row).status_code == 403
    assert not NodeSkip.objects.exists()


def test_over_rest_it_is_named_as_skipped(ada, shop):
    row = a_rollout(shop, taint(), remove(), state="running", author=ada.user)
    tool, said = Tool(ada.user, "read", "act"), {"step": "s002", "reason": WHY}
    answer = tool("POST", f"rollouts/{row.pk}/skip_node", said, idempotency_key="skip-1", if_match=f'"v{row.version}"')
    assert answer.status_code == 202, answer.content
    found = answer.json()
    assert [(one["node"], one["by"], one["reason"]) for one in found["skipped_nodes"]] == [(NAME, "ada", WHY)]
    again = tool("POST", f"rollouts/{row.pk}/skip_node", said, idempotency_key="skip-2", if_match=f'"v{row.version}"')
    assert (again.status_code, again.json()["code"]) == (409, "moved")
