"""What is asked of all clusters at once."""

import pytest

from migrations_app.queries.fleet.all_clusters import live_clusters
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db


def test_only_clusters_that_are_connected_to_are_live():
    a_cluster("demo", source="sample")
    a_cluster("dump", source="bundle")
    assert live_clusters() == 0
    for source in ("kubeconfig", "in_cluster", "eks"):
        a_cluster(source, source=source)
    assert live_clusters() == 3
