"""Fixtures: a cluster, an operator, an approver, and a journey that was just started."""

import pytest

from tests.use_cases.journeys import stage
from tests.use_cases.people import APPROVE, OPERATE, user


@pytest.fixture
def shop():
    return stage.cluster()


@pytest.fixture
def ada():
    return user("ada", OPERATE)


@pytest.fixture
def cleo():
    return user("cleo", APPROVE)


@pytest.fixture
def running(shop, ada, cleo):
    """Returns a journey that was just started: its first step is a rollout, whose plan was previewed."""
    stage.scanned(shop)
    row = stage.approved(stage.previewed(shop, ada), ada, [cleo])
    return stage.started(row, ada)
