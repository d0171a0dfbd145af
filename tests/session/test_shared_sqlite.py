"""Threads of a test leave no connection to its database in memory behind, and cannot end that of the test."""

import gc
import threading
import warnings

import pytest
from django.db import connection, connections

from migrations_app.models.cluster import Cluster


@pytest.mark.django_db(transaction=True)
def test_what_a_thread_closes_is_closed_and_the_test_keeps_its_own():
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no database in memory")
    Cluster.objects.create(name="blue", source="sample")
    seen = []

    def look():
        seen.append(Cluster.objects.count())
        connection.close()
        seen.append(connections["default"].connection)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        gc.collect()
    connection.close()
    assert (seen, Cluster.objects.count()) == ([1, None], 1)
    assert [str(one.message) for one in told if "sqlite3" in str(one.message)] == []
