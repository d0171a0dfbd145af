"""What the tests of pages share."""

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _no_throttle(settings: Settings) -> None:
    """Requests of other tests of this process, by users with the same id, would count."""
    settings.API_BURST = 1_000_000
