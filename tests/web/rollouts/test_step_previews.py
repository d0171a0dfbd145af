"""A rollout that was made to show the plan of a step of an upgrade has not expired: nobody was to start it."""

import pytest

from migrations_app.queries.rollouts.rollouts import STEP_PREVIEW
from migrations_app.use_cases.journeys.step_rollouts import SHOWN_MARK
from tests.builders.rollouts import a_rollout
from tests.web.pages import rows, text

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("cause", "word"), [(STEP_PREVIEW, "Shown in an upgrade"), ("", "Expired"), ("stale", "Expired")]
)
def test_the_list_and_the_page_say_what_became_of_it(ada, shop, cause, word):
    row = a_rollout(shop, state="expired", cause_code=cause)
    assert word in rows(ada.get(f"/clusters/{shop.pk}/rollouts"))[0]
    words = text(ada.get(f"/rollouts/{row.pk}/"))
    assert word in words
    assert (STEP_PREVIEW in words, "It showed the plan of a step" in words) == (False, cause == STEP_PREVIEW)


def test_the_mark_is_that_of_journeys():
    assert STEP_PREVIEW == SHOWN_MARK
