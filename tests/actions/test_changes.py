"""One request as a value: its path ends in the object that is meant, and its right is told in the words of RBAC."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.changes import (
    ObjectTarget,
    PlannedRequest,
    RbacNeed,
    application,
    creation,
    deletion,
    merge,
)
from migrations_app.errors import InvalidInput

POOL = ObjectTarget("karpenter.sh", "v1", "nodepools", "NodePool", "default", uid="u1")
NODE = ObjectTarget("", "v1", "nodes", "Node", "ip-10-0-0-1.ec2.internal")
WORKLOAD = ObjectTarget("apps", "v1", "deployments", "Deployment", "web", namespace="shop")


PATCH = "application/merge-patch+json"
REQUESTS = [
    (deletion(NODE), "DELETE", "/api/v1/nodes/ip-10-0-0-1.ec2.internal", "application/json"),
    (creation(POOL, {}), "POST", "/apis/karpenter.sh/v1/nodepools", "application/json"),
    (merge(WORKLOAD, {}), "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web", PATCH),
    (application(POOL, {}), "PATCH", "/apis/karpenter.sh/v1/nodepools/default", "application/apply-patch+yaml"),
    (merge(POOL, {}, subresource="status"), "PATCH", "/apis/karpenter.sh/v1/nodepools/default/status", PATCH),
]


@pytest.mark.parametrize(("change", "method", "path", "content_type"), REQUESTS)
def test_how_a_request_is_sent(change, method, path, content_type):
    assert (change.method, change.path, change.content_type) == (method, path, content_type)


def test_the_rights_it_asks_for():  # A26
    assert [(need.verb, need.group, need.plural, need.subresource) for need in (row[0].need for row in REQUESTS)] == [
        ("delete", "", "nodes", ""),
        ("create", "karpenter.sh", "nodepools", ""),
        ("patch", "apps", "deployments", ""),
        ("patch", "karpenter.sh", "nodepools", ""),
        ("patch", "karpenter.sh", "nodepools", "status"),
    ]


def test_said_and_rule():
    assert (POOL.display_name, WORKLOAD.display_name) == ("NodePool default", "Deployment shop/web")
    rule = RbacNeed(verb="patch", group="karpenter.sh", plural="nodepools", subresource="status").rule
    assert rule == '{apiGroups: ["karpenter.sh"], resources: ["nodepools/status"], verbs: ["patch"]}'


def test_a_deletion_takes_along_only_what_was_said():
    assert deletion(POOL).body == {"propagationPolicy": "Background"}
    assert deletion(POOL, foreground=True).body == {"propagationPolicy": "Foreground"}


BAD = [
    "",
    ".",
    "..",
    "a/b",
    "a..b",
    "../nodes",
    "%2e%2e",
    "A",
    "a b",
    "a\x00",
    "a?x=1",
    "a#b",
    "-a",
    "a-",
    "é",
    "x" * 254,
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_leads_elsewhere_is_refused(name):  # K13, T18
    for target in (
        ObjectTarget("", "v1", "nodes", "Node", name),
        ObjectTarget("", "v1", "pods", "Pod", "web", namespace=name or "."),
    ):
        with pytest.raises(InvalidInput) as refused:
            _ = deletion(target).path
        assert refused.value.code == "bad_name"


@given(st.text(max_size=40))
def test_every_path_of_a_deletion_ends_in_exactly_one_named_object(name):  # K13
    target = ObjectTarget("", "v1", "nodes", "Node", name)
    try:
        path = deletion(target).path
    except InvalidInput:
        return
    assert path == f"/api/v1/nodes/{name}"
    assert path.count("/") == 4
    assert name not in ("", ".", "..")


@pytest.mark.parametrize(
    ("group", "version", "plural"),
    [("a/b", "v1", "nodes"), ("", "v1/x", "nodes"), ("", "v1", "nodes/x"), ("", "v1", "")],
)
def test_a_kind_that_is_none_is_refused(group, version, plural):
    with pytest.raises(InvalidInput):
        _ = deletion(ObjectTarget(group, version, plural, "Node", "a")).path


def test_only_the_status_is_a_subresource():
    with pytest.raises(InvalidInput):
        PlannedRequest(verb="patch", target=POOL, subresource="eviction/../..")
