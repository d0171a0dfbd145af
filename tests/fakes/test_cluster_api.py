"""The fake cluster does what it is told."""

import json

import pytest

from migrations_app.clients.kubernetes.api import ClusterApi, Resource
from migrations_app.errors import Forbidden, NotServed, TimedOut
from tests.clients.bundle.objects import node, pod
from tests.fakes.cluster_api import FakeCluster

PODS = Resource("", "v1", "pods")


def names(api: ClusterApi, resource: Resource) -> list[str]:
    return [json.loads(bytes(item))["metadata"]["name"] for page in api.pages(resource) for item in page.items]


def test_it_lists_what_it_was_given() -> None:
    api = FakeCluster(pod("a"), pod("b", namespace="other", labels={"x": "y"}), node())
    assert names(api, PODS) == ["a", "b"]
    assert names(api, Resource("", "v1", "pods", "other")) == ["b"]
    assert names(api, Resource("", "v1", "pods", label_selector="x=y")) == ["b"]
    assert json.loads(api.get("/api/v1/namespaces/shop/pods/a")) == pod("a")


def test_it_fails_on_order() -> None:
    api = FakeCluster(pod(), without=["nodes"])
    api.refuse("pods", TimedOut("late"), None, Forbidden("no"))
    with pytest.raises(TimedOut):
        names(api, PODS)
    assert names(api, PODS) == ["p1"]
    for _ in range(2):
        with pytest.raises(Forbidden):
            names(api, PODS)
    with pytest.raises(NotServed):
        names(api, Resource("", "v1", "nodes"))
    assert "nodes" not in {each.plural for each in api.served().resources}
