import msgspec
import pytest

from migrations_app.inventory.facts.workloads import may_ask_metadata, metadata_users
from migrations_app.inventory.objects.karpenter import Workload
from migrations_app.karpenter.tables.metadata_rows import METADATA_USERS
from migrations_app.samples.kubernetes_objects import template, workload
from tests.builders.clusters import a_cluster

IMAGE = "registry.example.com/aws-load-balancer-controller:v2.8.1"


def a_workload(kind: str, *args: str, image: str = IMAGE, **spec):
    containers = [{"name": "one", "image": image, "args": list(args)}]
    pod = template({"app": "x"}, {"containers": containers, "nodeSelector": {"karpenter.sh/nodepool": "web"}, **spec})
    return workload(kind, "lbc", namespace="tools", replicas=1, pod=pod)


def asking(made):
    return [(one.kind, one.workload.name, one.image) for one in metadata_users(a_cluster().with_docs(made).build())]


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_a_known_image_asks(kind):
    assert asking(a_workload(kind)) == [(kind, "lbc", IMAGE)]
    assert asking(a_workload(kind, "--aws-region=x")) == [(kind, "lbc", IMAGE)]


@pytest.mark.parametrize(
    "made",
    [
        a_workload("Deployment", "--aws-region=x", "--aws-vpc-id=y"),
        a_workload("Deployment", hostNetwork=True),
        a_workload("Deployment", image="example.com/web:1"),
    ],
)
def test_others_do_not(made):
    assert asking(made) == []


def test_rows_have_a_way_out_and_a_source():
    assert all(row.image and row.spared_by and row.source for row in METADATA_USERS)


@pytest.mark.parametrize(
    ("made", "may"),
    [
        (a_workload("Deployment", "--aws-region=x", "--aws-vpc-id=y"), True),
        (a_workload("Deployment", image="example.com/web:1"), False),
    ],
)
def test_an_inventory_keeps_who_may_ask(made, may):
    assert may_ask_metadata(msgspec.convert(made, Workload)) is may
