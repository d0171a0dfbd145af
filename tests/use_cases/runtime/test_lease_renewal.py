"""A lease is renewed beside the work: until the work ends, or the lease is lost."""

import threading

import pytest
from django.db import InterfaceError, OperationalError

from migrations_app.use_cases.runtime.lease_renewal import renewed_lease

PATIENCE = 30
"""Seconds that a test waits for the thread at most."""


class Renewals:
    """Answers each renewal by the next of these results; `over` is set with the last one."""

    def __init__(self, *results):
        self.results = list(results)
        self.count = 0
        self.over = threading.Event()

    def __call__(self) -> bool:
        result = self.results[self.count]
        self.count += 1
        if self.count == len(self.results):
            self.over.set()
        if isinstance(result, Exception):
            raise result
        return result


def test_a_lost_lease_ends_the_renewals_and_raises_nothing():
    renewals = Renewals(True, True, False)
    with renewed_lease(renewals, seconds=0.001):
        assert renewals.over.wait(PATIENCE)
    assert renewals.count == 3


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_restarts_does_not_end_them(error):
    renewals = Renewals(error("the database system is shutting down"), False)
    with renewed_lease(renewals, seconds=0.001):
        assert renewals.over.wait(PATIENCE)
    assert renewals.count == 2


def test_the_end_of_the_work_ends_them():
    renewed = threading.Event()
    with renewed_lease(lambda: renewed.set() or True, seconds=0.001):
        assert renewed.wait(PATIENCE)
    assert not [thread for thread in threading.enumerate() if thread.name == "lease"]
