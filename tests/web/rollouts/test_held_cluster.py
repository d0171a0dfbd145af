"""The actions of a cluster that an upgrade step by step holds: what is in progress is said above them."""

import pytest

from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
BEFORE = "it comes before the actions below."


def test_an_upgrade_step_by_step_is_said_above_the_actions(ada, shop):
    journey = a_journey(shop, state="running", needs_person=True)
    page = ada.get(f"/clusters/{shop.pk}/rollouts")
    words = f"Upgrade to 1.0.14, step by step: {BEFORE} A step of it waits for a person. Open upgrade"
    assert (words in text(page), f"/journeys/{journey.pk}/" in links(page)) == (True, True)
    assert words not in text(ada.get(f"/clusters/{shop.pk}/nodes"))


@pytest.mark.parametrize(("state", "said"), [("approved", True), ("running", False), ("previewed", False)])
def test_of_rollouts_it_is_the_one_that_may_start(ada, shop, state, said):
    """One that runs has a banner of its own."""
    a_rollout(shop, state=state)
    assert (BEFORE in text(ada.get(f"/clusters/{shop.pk}/rollouts"))) is said
