"""What a person is told to do about a Helm release that is pending or failed."""

import pytest

from migrations_app.actions.targets.helm_releases import repair_of_newest
from migrations_app.inventory.facts.controller import CHART, CRD_CHART


@pytest.mark.parametrize("chart", [CHART, CRD_CHART])
def test_a_release_that_ran_before_is_rolled_back(chart):
    assert repair_of_newest(worked_before=True, chart=chart) == "roll the release back first"


@pytest.mark.parametrize(("chart", "warned"), [(CHART, False), (CRD_CHART, True)])
def test_a_first_installation_has_nothing_to_go_back_to(chart, warned):
    told = repair_of_newest(worked_before=False, chart=chart)
    assert told.startswith("no earlier revision worked")
    assert ("never uninstall it" in told) is warned
