"""The sample clusters that people can act on, at their begin."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from migrations_app.manifests import JsonMap
from migrations_app.samples.aws_account import SampleAws, SampleAwsAccount
from migrations_app.samples.changeable import objects
from migrations_app.samples.changeable.objects import ChangeableCluster, complete, controller_objects, definitions
from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.karpenter_objects import (
    LARGE_ENOUGH,
    ON_DEMAND,
    claim,
    machine,
    node_class,
    node_template,
    pool,
    provisioner,
)
from migrations_app.samples.kubernetes_objects import config_map

GRANTED = ("0.30", "0.32", "0.33", "0.37", "1.0", "1.1")
"""The releases whose IAM permissions every sample controller's role has: permissions are no part of the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeableSample:
    """`name` is the name of its row, `build` makes its first objects, `begins` is the first running release."""

    name: str
    title: str
    about: str
    begins: str
    cluster: ChangeableCluster
    build: Callable[[datetime], list[JsonMap]]
    target: str = "1.0"
    """The release that its path ends at."""


def _site(cluster: ChangeableCluster) -> tuple[ClusterBuilder, ChangeableCluster]:
    site = ClusterBuilder(cluster.name, cluster.kubernetes)
    return site, objects.with_nodes(cluster, site.node_group("system", 3))


def _workloads(site: ClusterBuilder, nodes: list[str]) -> None:
    """Sixty pods: two stateless services, a queue of workers, and a database with a strict budget."""
    site.deploy("storefront", "shop", replicas=24, nodes=nodes, spare=6)
    site.deploy("checkout", "shop", replicas=12, nodes=nodes, spare=3)
    site.deploy("search", "shop", replicas=18, nodes=nodes, spare=4)
    site.deploy("orders-db", "shop", replicas=3, nodes=nodes, kind="StatefulSet", spare=1)


def _settings(cluster: ChangeableCluster) -> JsonMap:
    data = {
        "aws.clusterName": cluster.name,
        "aws.interruptionQueueName": cluster.name,
        "aws.defaultInstanceProfile": f"KarpenterNodeInstanceProfile-{cluster.name}",
        "batchMaxDuration": "10s",
        "batchIdleDuration": "1s",
        "featureGates.driftEnabled": "true",
    }
    return config_map("karpenter-global-settings", objects.NAMESPACE, data=data)


ALPHA = ChangeableCluster(name="sample-alpha")
HALFWAY = ChangeableCluster(name="sample-halfway")
STORED = ChangeableCluster(name="sample-stored")


def alpha_stage(cluster: ChangeableCluster, now: datetime, *, machines: int) -> list[JsonMap]:
    """A cluster before the upgrade: 0.31.5 with one Provisioner."""
    site, cluster = _site(cluster)
    launched = objects.numbered(site.launched("general", machines))
    for instance in launched:
        site.add(*machine(instance, template="default"))
    nodes = [instance.node for instance in launched]
    site.add_ons([*cluster.system_nodes, *nodes])
    site.add(
        provisioner("general", ON_DEMAND, LARGE_ENOUGH, template="default"),
        node_template("default", cluster=site.name),
        *definitions("0.31.5"),
        *controller_objects(cluster, "0.31.5", revision=objects.FIRST_REVISION),
        _settings(cluster),
    )
    _workloads(site, nodes)
    return complete(site, now=now)


def mixed_stage(cluster: ChangeableCluster, now: datetime, *, machines: int, claims: int) -> list[JsonMap]:
    """A cluster on 0.32.10 with nodes of both generations."""
    site, cluster = _site(cluster)
    old = objects.numbered(site.launched("general", machines))
    new = objects.numbered(site.launched("general-beta", claims))
    for launched in old:
        site.add(*machine(launched, template="default"))
    for launched in new:
        site.add(*claim(launched, node_class="default", version="v1beta1"))
    nodes = [launched.node for launched in (*old, *new)]
    site.add_ons([*cluster.system_nodes, *nodes])
    site.add(
        provisioner("general", ON_DEMAND, LARGE_ENOUGH, template="default"),
        node_template("default", cluster=site.name),
        pool("general-beta", ON_DEMAND, LARGE_ENOUGH, node_class="default", version="v1beta1"),
        node_class("default", cluster=site.name, version="v1beta1"),
        *definitions("0.32.10"),
        *controller_objects(cluster, "0.32.10", revision=objects.FIRST_REVISION),
        _settings(cluster),
    )
    _workloads(site, nodes)
    site.hash_as("0.32.10")
    return complete(site, now=now)


def current_stage(cluster: ChangeableCluster, now: datetime, *, version: str, claims: int) -> list[JsonMap]:
    """A cluster without anything of v1alpha5: 0.37.8, or 1.0.14 whose CRDs still list v1beta1 as stored."""
    site, cluster = _site(cluster)
    api = "v1" if version.startswith("1.") else "v1beta1"
    launched = objects.numbered(site.launched("general", claims))
    for instance in launched:
        site.add(*claim(instance, node_class="default", version=api, born_as="v1beta1"))
    nodes = [instance.node for instance in launched]
    site.add_ons([*cluster.system_nodes, *nodes])
    site.add(
        pool("general", ON_DEMAND, LARGE_ENOUGH, node_class="default", version=api),
        node_class("default", cluster=site.name, version=api),
        *definitions(version, stored=("v1beta1", "v1") if api == "v1" else ()),
        *controller_objects(cluster, version, revision=objects.FIRST_REVISION),
    )
    _workloads(site, nodes)
    site.hash_as(version)
    return complete(site, now=now)


SAMPLES = (
    ChangeableSample(
        name="live-alpha",
        title="All on v1alpha5",
        about="0.31.5 with one Provisioner and 20 Machines: the whole way to v1 is ahead.",
        begins="0.31.5",
        cluster=ALPHA,
        build=partial(alpha_stage, ALPHA, machines=20),
    ),
    ChangeableSample(
        name="live-halfway",
        title="Halfway to v1beta1",
        about="0.32.10 with six Machines and six NodeClaims.",
        begins="0.32.10",
        cluster=HALFWAY,
        build=partial(mixed_stage, HALFWAY, machines=6, claims=6),
    ),
    ChangeableSample(
        name="live-stored",
        title="v1beta1 still stored",
        about="1.0.14 with eight NodeClaims; the CRDs still list v1beta1 as stored.",
        begins="1.0.14",
        cluster=STORED,
        build=partial(current_stage, STORED, version="1.0.14", claims=8),
        target="1.1",
    ),
)


def find(name: str) -> ChangeableSample | None:
    """The sample of that name; None if there is none."""
    return next((sample for sample in SAMPLES if sample.name == name), None)


def cluster_of(sample: ChangeableSample) -> ChangeableCluster:
    """The cluster with the names of the nodes on which its controller runs."""
    return _site(sample.cluster)[1]


def account(sample: ChangeableSample, docs: tuple[JsonMap, ...], *, tagged: bool, at: datetime) -> SampleAws:
    """Its AWS account at that time, in which the controller may do everything, with an instance for each claim.

    `tagged`: as releases from 1.0 on tag them.
    """
    return SampleAws(
        SampleAwsAccount(
            cluster=sample.cluster.name,
            kubernetes=sample.cluster.kubernetes,
            region="eu-central-1",
            granted=GRANTED,
            docs=docs,
            tagged_with_cluster=tagged,
            queue=sample.cluster.name,
            namespace=objects.NAMESPACE,
            profiles=[f"KarpenterNodeInstanceProfile-{sample.cluster.name}"],
            measured_at=f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:00Z}",
        )
    )
