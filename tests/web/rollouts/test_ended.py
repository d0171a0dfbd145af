"""What a rollout that failed or was aborted says about the cluster: whether anything of it was changed."""

import pytest

from migrations_app.models.rollout import Attempt
from tests.builders.rollouts import a_line, a_rollout, remove
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
GOES_ON, UNCHANGED = "goes on with what the applied steps started", "None of its requests changed the cluster."


@pytest.mark.parametrize("state", ["failed", "aborted"])
@pytest.mark.parametrize(
    ("lines", "changed"),
    [
        ([], False),
        ([{"outcome": "refused", "status": 422}], False),
        ([{"outcome": "noop"}, {"outcome": "not_applied"}], False),
        ([{"verb": "gate", "outcome": "applied"}], False),
        ([{"outcome": "applied"}], True),
        ([{"outcome": "refused"}, {"outcome": "unknown", "status": None}], True),
        ([{"outcome": "", "status": None, "outcome_at": None}], True),
    ],
)
def test_an_ended_rollout_says_whether_it_changed_something(ada, shop, state, lines, changed):
    row = a_rollout(shop, state=state, author=ada.user)
    for columns in lines:
        a_line(row, **columns)
    said = text(ada.get(f"/rollouts/{row.pk}/"))
    assert (GOES_ON in said, UNCHANGED in said) == (changed, not changed)


@pytest.mark.parametrize("outcome", sorted(set(Attempt.Outcome.values) - {"refused", "noop", "not_applied"}))
def test_a_request_of_any_other_outcome_may_have_changed_the_cluster(ada, shop, outcome):
    row = a_rollout(shop, state="failed", author=ada.user)
    a_line(row, verb="helm", outcome=outcome)
    said = text(ada.get(f"/rollouts/{row.pk}/"))
    assert (GOES_ON in said, UNCHANGED in said) == (True, False)


def test_a_deletion_of_all_that_is_left_is_not_called_one_of_some_objects(ada, shop):
    row = a_rollout(shop, remove(), action="remove_legacy", state="succeeded", author=ada.user)
    said = text(ada.get(f"/rollouts/{row.pk}/"))
    assert ("Delete 1 legacy alpha objects" in said, "Delete some" in said) == (True, False)


@pytest.mark.parametrize(
    ("state", "said"),
    [("previewed", "Preview"), ("failed", "Failed"), ("succeeded", "Succeeded"), ("expired", "Expired")],
)
def test_a_rollback_is_shown_with_its_state(ada, shop, state, said):
    """One that was only planned was called done: "Rolled back by rollout 1"."""
    row = a_rollout(shop, state="succeeded", author=ada.user)
    back = a_rollout(shop, state=state, author=ada.user, rolls_back=row)
    page = ada.get(f"/rollouts/{row.pk}/")
    assert (f"Its rollback : {said} just now" in text(page), "Rolled back by" in text(page)) == (True, False)
    assert f"/rollouts/{back.pk}/" in links(page)
    assert f"/rollouts/{row.pk}/" in links(ada.get(f"/rollouts/{back.pk}/"))
