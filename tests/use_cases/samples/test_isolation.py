"""A sample cluster opens no connection, and no data can turn a real cluster into a sample."""

import pytest

from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.collect.collect import collect
from migrations_app.errors import InvalidInput, InvalidKubeconfig, ReadError
from migrations_app.models.cluster import Cluster
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.twin.ports.reading import TwinReader
from migrations_app.use_cases.clusters.credentials import replace_kubeconfig
from migrations_app.use_cases.runtime import connections
from migrations_app.use_cases.runtime.connections import connect, connect_aws, connect_writer
from migrations_app.use_cases.samples import clusters
from migrations_app.use_cases.twins.ports import SampleWriter
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: one, user: one}}]
users: [{name: one, user: {token: abc}}]
clusters: [{name: one, cluster: {server: "SERVER"}}]
"""


@pytest.fixture
def alpha() -> Cluster:
    clusters.make_all()
    return Cluster.objects.get(name="live-alpha")


@pytest.mark.parametrize("scheme", ["sample://", "twin://", "sample:", "twin:", "file://", ""])
def test_a_kubeconfig_that_names_a_twin_is_refused(alpha, scheme):
    text = KUBECONFIG.replace("SERVER", f"{scheme}{alpha.pk}").encode()
    with pytest.raises(InvalidKubeconfig):
        read_kubeconfig(text, context="")


def test_a_sample_cluster_takes_no_kubeconfig(alpha):
    with pytest.raises(InvalidInput, match="not reached by a kubeconfig; its source is twin"):
        replace_kubeconfig(alpha.pk, KUBECONFIG.encode(), typed_name=alpha.name)


def test_a_row_beside_a_real_cluster_makes_no_twin_of_it(alpha):
    real, kept = a_cluster("prod", source="kubeconfig"), SampleTwin.objects.get(pk=alpha.pk)
    SampleTwin.objects.create(
        cluster=real, sample=kept.sample, body=kept.body, begun_at=kept.begun_at, changed_at=kept.changed_at
    )
    with pytest.raises(InvalidInput, match="no stored credentials"), connect(real) as api:
        assert not isinstance(api, TwinReader)
    with pytest.raises(InvalidInput, match="no stored credentials"), connect_writer(real) as writer:
        assert not isinstance(writer, SampleWriter)


def test_a_sample_without_its_row_is_gone(alpha):
    SampleTwin.objects.all().delete()
    with pytest.raises(ReadError, match="removed"), connect(alpha):
        pass


def test_reading_a_sample_opens_nothing(alpha, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a connection was opened")

    for name in ("open_live", "open_writer", "open_aws", "read_kubeconfig", "in_cluster", "open_bundle"):
        monkeypatch.setattr(connections, name, refuse)
    with connect(alpha) as api, connect_writer(alpha) as writer, connect_aws(alpha) as aws:
        assert len(collect(api, cluster=alpha.name).inventory.machines.items) == 20
        assert writer.identity().endpoint == "sample://"
        assert sum(one.count for one in aws.tagged_instances()) == 20
