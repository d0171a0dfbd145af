"""A refused form keeps what was typed, and says at the field what is wrong with it."""

import re
from html import unescape

import pytest

from migrations_app.templatetags import form_tags
from migrations_app.web import double_submit
from migrations_app.web.rollouts import presenter
from tests.builders.journeys import a_journey
from tests.builders.rollouts import NONCE, a_rollout, remove, taint
from tests.web.pages import text

pytestmark = pytest.mark.django_db
KEY = "k" * 22


def sent(who, kind, row, name, form, **said):
    told = {"version": row.version, "digest": row.digest, "nonce": NONCE, "form_key": f"{KEY}-{form}"}
    return who.post(f"/{kind}/{row.pk}/{name}", told | said)


def value(answer, field) -> str:
    """What stands in the text input with that id."""
    tag = re.search(rf'<input[^>]*id="{field}"[^>]*>', answer.content.decode()).group(0)
    return unescape(re.search(r'value="([^"]*)"', tag).group(1))


def problem_at(answer, field) -> str:
    """The words right below the input with that id; empty if there are none."""
    html = answer.content.decode()
    below = re.search(
        rf'<input[^>]*id="{field}"[^>]*>\s*(<span class="problem"[^>]*>.*?</span></span>)?', html, re.DOTALL
    )
    return " ".join(unescape(re.sub("<[^>]+>", " ", below.group(1) or "")).split())


def test_a_name_that_does_not_match_is_said_at_its_field_and_the_comment_stays(cleo, shop):
    row = a_rollout(shop, remove(), state="awaiting_approval", provable={"s001": "a webhook"})
    said = {"typed": "shp", "reason": 'seen <b> "twice"', "accepted": ["s001"]}
    answer = sent(cleo, "rollouts", row, "approve", "yes", **said)
    assert answer.status_code == 400
    assert problem_at(answer, "yes-typed") == "Type the cluster's name as it is shown above."
    assert (value(answer, "yes-typed"), value(answer, "yes-reason")) == ("shp", 'seen <b> "twice"')
    assert re.search(r'value="s001"\s+checked', answer.content.decode())
    assert (value(answer, "no-reason"), problem_at(answer, "no-reason")) == ("", "")


def test_the_fold_of_the_refused_form_is_open(cleo, shop):
    row = a_rollout(shop, state="awaiting_approval")
    answer = sent(cleo, "rollouts", row, "reject", "no", version=9, reason="not today")
    html = answer.content.decode()
    assert (answer.status_code, value(answer, "no-reason")) == (409, "not today")
    assert re.search(r'<details class="raw" open>\s*<summary>Reject', html)
    assert not re.search(r'<details class="raw" open>', cleo.get(f"/rollouts/{row.pk}/").content.decode())


def _is_open(answer, step) -> bool:
    """Whether the fold of that step is open."""
    html = answer.content.decode()
    return re.search(r"<details\b([^>]*)>", html[html.index(f'id="{step}"') :]).group(1).strip() == "open"


@pytest.mark.parametrize("shown_at_once", [200, 1])  # with 1, the step is on the second page
def test_the_step_whose_skip_was_refused_is_open(ada, shop, monkeypatch, shown_at_once):
    monkeypatch.setattr(presenter, "STEPS_SHOWN", shown_at_once)
    row = a_rollout(shop, taint(), remove(), state="paused", author=ada.user)
    answer = sent(ada, "rollouts", row, "skip-node", "s002", step="s002", version=9, reason="drained on Monday")
    assert (answer.status_code, value(answer, "skip-s002")) == (409, "drained on Monday")
    assert _is_open(answer, "s002")
    assert not _is_open(ada.get(f"/rollouts/{row.pk}/?from=1"), "s002")


def test_the_form_of_a_refused_rollback_is_shown_again(ada, shop):
    row = a_journey(shop, state="running", author=ada.user, at=1)
    first = row.steps.get(place=0).step
    answer = sent(
        ada, "journeys", row, "take-back", "take-back", step=first, version=9, reason="the dashboards are red"
    )
    assert (answer.status_code, value(answer, "back-reason")) == (409, "the dashboards are red")
    html = answer.content.decode()
    assert re.search(r'<details class="raw" id="take-back" open>', html)
    assert re.search(rf'<option\s+value="{first}"\s+selected', html)
    other = sent(ada, "journeys", row, "pause", "pause", step=first, version=9)
    assert 'id="back-reason"' not in other.content.decode()


def test_a_chosen_outcome_stays_chosen(ada, shop):
    row = a_rollout(shop, state="needs_attention", author=ada.user)
    answer = sent(ada, "rollouts", row, "settle", "settle", then="aborted")
    checked = re.findall(r'name="then"\s+value="(\w+)"\s+checked', answer.content.decode())
    assert (answer.status_code, checked) == (400, ["aborted"])
    assert problem_at(answer, "settle-reason").startswith("A reason is needed")
    first = ada.get(f"/rollouts/{row.pk}/").content.decode()
    assert re.findall(r'name="then"\s+value="(\w+)"\s+checked', first) == ["paused"]


def test_the_note_of_an_upgrade_step_by_step_stays(ada, shop):
    row = a_journey(shop, state="running", author=ada.user, wait_code="tick_needed", needs_person=True)
    answer = sent(ada, "journeys", row, "tick", "tick", version=99, step="j01", note="attached the policy")
    assert (answer.status_code, value(answer, "tick-note")) == (409, "attached the policy")
    assert "Action failed" in text(answer)


def test_the_field_that_names_a_form_is_that_of_double_submits():
    assert form_tags.FORM_KEY == double_submit.FIELD
