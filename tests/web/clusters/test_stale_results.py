"""The page of a cluster whose newest result is stale says why: old, dated in the future, or of an old bundle."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.builders.rows import a_cluster, a_failure, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    return a_cluster("shop")


def page_of(client, cluster):
    return client.get(f"/clusters/{cluster.pk}/")


def test_stale(ada, shop):
    a_snapshot(shop, at=timezone.now() - timedelta(days=2))
    assert "Stale. The newest result is from 2 days ago ; scans are due every hour." in text(page_of(ada, shop))


@pytest.mark.parametrize("failures", [0, 1])
def test_a_result_dated_in_the_future_is_said_to_be_so(ada, shop, failures):
    a_snapshot(shop, at=timezone.now() + timedelta(days=3))
    if failures:
        a_failure(shop, times=failures)
    page = text(page_of(ada, shop))
    assert "Stale. The newest result is dated in the future:" in page
    assert "The clock of a worker was ahead, so the real age is not known: scan again." in page
    assert "scans are due" not in page


def test_a_result_within_the_tolerance_of_clocks_is_neither_stale_nor_of_the_future(ada, shop):
    a_snapshot(shop, at=timezone.now() + timedelta(minutes=9))
    assert "Stale." not in text(page_of(ada, shop))


def test_an_old_bundle_needs_a_newer_bundle_not_another_scan(ada):
    bundle = a_cluster("away", source="bundle")
    a_snapshot(bundle, at=timezone.now() - timedelta(days=2))
    page = text(page_of(ada, bundle))
    assert "Stale. The cluster was read into this bundle 2 days ago ." in page
    assert "register a newer bundle." in page
    assert "scans are due" not in page
