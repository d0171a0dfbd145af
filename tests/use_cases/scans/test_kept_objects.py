"""Objects are kept sealed under their cluster, written again only when they changed."""

import dataclasses
import os
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import KeptObjects
from migrations_app.use_cases.scans.store import kept_objects, store_objects

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
OLD, NEW = ("old", os.urandom(32)), ("new", os.urandom(32))
POOL = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "default"},
    "spec": {"providerRef": {"name": "x"}, "weight": None},
}
CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "x"},
    "spec": {"userData": "export TOKEN=canary-secret"},
}


@pytest.fixture(autouse=True)
def use(settings):
    def keys(*pairs):
        settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=pairs)

    keys(OLD)
    return keys


@pytest.fixture
def cluster():
    return Cluster.objects.create(name="c1", source="sample")


def test_what_was_kept_comes_out_again(cluster):
    store_objects(cluster.pk, (POOL, CLASS), now=NOW)
    assert kept_objects(cluster.pk) == (POOL, CLASS)


def test_no_objects_are_something_else_than_nothing_kept(cluster):
    assert kept_objects(cluster.pk) is None
    store_objects(cluster.pk, (), now=NOW)
    assert kept_objects(cluster.pk) == ()


def test_a_secret_in_user_data_is_not_in_the_row(cluster):
    store_objects(cluster.pk, (CLASS,), now=NOW)
    assert b"canary" not in bytes(KeptObjects.objects.get().sealed)


def test_a_row_moved_to_another_cluster_does_not_open(cluster):
    store_objects(cluster.pk, (CLASS,), now=NOW)
    row = KeptObjects.objects.get()
    other = Cluster.objects.create(name="c2", source="sample")
    KeptObjects.objects.create(cluster=other, digest=row.digest, sealed=row.sealed, changed_at=NOW)
    assert kept_objects(other.pk) is None


def test_unchanged_objects_write_nothing(cluster):
    store_objects(cluster.pk, (POOL, CLASS), now=NOW)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        store_objects(cluster.pk, (msgspec.json.decode(msgspec.json.encode(POOL)), CLASS), now=LATER)
    assert [query["sql"].split()[0] for query in asked.captured_queries] == ["SELECT"]
    assert KeptObjects.objects.get().changed_at == NOW


def test_changed_objects_replace_the_old_ones(cluster):
    store_objects(cluster.pk, (POOL, CLASS), now=NOW)
    store_objects(cluster.pk, (POOL,), now=LATER)
    assert (kept_objects(cluster.pk), KeptObjects.objects.get().changed_at) == ((POOL,), LATER)


def test_a_new_key_seals_at_the_next_scan(cluster, use):
    store_objects(cluster.pk, (POOL,), now=NOW)
    use(NEW, OLD)
    store_objects(cluster.pk, (POOL,), now=LATER)
    use(NEW)
    assert kept_objects(cluster.pk) == (POOL,)


def test_objects_whose_key_is_gone_wait_for_the_next_scan(cluster, use):
    store_objects(cluster.pk, (POOL,), now=NOW)
    use(NEW)
    assert kept_objects(cluster.pk) is None


def test_without_a_key_nothing_is_kept_in_the_open(cluster, use):
    store_objects(cluster.pk, (POOL,), now=NOW)
    use()
    store_objects(cluster.pk, (POOL,), now=LATER)
    assert KeptObjects.objects.count() == 0


def test_a_removed_cluster_takes_its_objects_along(cluster):
    store_objects(cluster.pk, (POOL,), now=NOW)
    cluster.delete()
    assert KeptObjects.objects.count() == 0
