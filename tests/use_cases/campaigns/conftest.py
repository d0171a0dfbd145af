"""Fixtures: an operator, two approvers, and three clusters that were just scanned."""

import pytest

from tests.use_cases.campaigns import stage
from tests.use_cases.people import APPROVE, OPERATE, user


@pytest.fixture
def ada():
    return user("ada", OPERATE)


@pytest.fixture
def cleo():
    return user("cleo", APPROVE)


@pytest.fixture
def dora():
    return user("dora", APPROVE)


@pytest.fixture
def three():
    return stage.clusters("blue", "green", "red")
