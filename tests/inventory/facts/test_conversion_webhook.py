import pytest

from migrations_app.inventory.facts.conversion_webhook import (
    conversion_crds,
    conversion_target,
    service_problem,
    webhook_service,
)
from migrations_app.inventory.objects.karpenter import ServiceReference
from tests.builders.clusters import a_cluster, an_empty_cluster


@pytest.mark.parametrize(
    ("version", "count"), [("0.30.0", 0), ("0.32.10", 0), ("0.37.8", 3), ("1.0.14", 3), ("1.3.3", 0)]
)
def test_which_crds_convert(version, count):
    assert len(conversion_crds(a_cluster(version).build())) == count


def test_what_they_call():
    found = conversion_target(conversion_crds(a_cluster(namespace="karpenter").build())[0])
    assert (found.namespace, found.name, found.port) == ("karpenter", "karpenter", 8443)


def test_a_crd_without_conversion_calls_nothing():
    assert conversion_target(a_cluster("0.30.0").build().crds.items[0]) is None


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (("kube-system", "karpenter", 8443), ""),
        (("kube-system", "karpenter", 9443), "the Service has no such port"),
        (("kube-system", "karpenter", None), "the Service has no such port"),
        (("karpenter", "karpenter", 8443), "no such Service"),
    ],
)
def test_whether_a_service_answers(target, problem):
    namespace, name, port = target
    reference = ServiceReference(namespace=namespace, name=name, port=port)
    assert service_problem(a_cluster().build(), reference) == problem


def test_the_service_of_the_controller():
    assert webhook_service(a_cluster().build()).name == "karpenter"
    assert webhook_service(a_cluster("1.3.3").build()) is None
    assert webhook_service(an_empty_cluster().build()) is None
