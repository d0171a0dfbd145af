"""Cluster roles by their bindings, policies by namespace, and CRDs with what only their text tells."""

import json

import msgspec
import pytest

from migrations_app.errors import Forbidden
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.inventory.parse import read_crd
from migrations_app.inventory.parts import Unseen
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.rbac import cluster_roles
from tests.builders.clusters import NODE, helm_crds
from tests.collect.test_collect import CORE, inventory_of

DEPLOYMENTS = ("apps", "v1", "deployments")
ROLES = ("rbac.authorization.k8s.io", "v1", "clusterroles")
BINDINGS = ("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
POLICIES = ("networking.k8s.io", "v1", "networkpolicies")
CRDS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def installed(*, subjects: object = None, wrong: dict | None = None):
    deployment = controller(Install(cluster="test", version="0.37.8"), [NODE])[0]
    role, binding = cluster_roles("0.37.8", namespace="kube-system")
    other = role | {"metadata": {"name": "view"}}
    if subjects is not None:
        binding["subjects"] = subjects
    objects = dict(CORE) | {DEPLOYMENTS: [deployment], ROLES: [role, other], BINDINGS: [binding]}
    return inventory_of(objects=objects, wrong=wrong or {})


def roles(inventory) -> list[str]:
    return [role.name for role in inventory.controller_rbac.items]


@pytest.mark.parametrize(
    ("subjects", "found"),
    [
        (None, ["karpenter-core"]),
        ([{"kind": "Group", "name": "system:serviceaccounts"}], ["karpenter-core"]),
        ([{"kind": "Group", "name": "system:serviceaccounts:kube-system"}], ["karpenter-core"]),
        ([{"kind": "ServiceAccount", "name": "karpenter", "namespace": "other"}], []),
        ([{"kind": "User", "name": "karpenter"}], []),
        ([], []),
    ],
)
def test_roles_are_those_bound_to_the_controllers_account(subjects, found):
    assert roles(installed(subjects=subjects)) == found


def test_without_the_right_to_list_them_they_are_unseen():
    found = installed(wrong={"clusterrolebindings": Forbidden("no")})
    assert isinstance(found.controller_rbac, Unseen)


def test_policies_of_the_controllers_namespace():
    policy = {"metadata": {"name": "guard", "namespace": "kube-system"}, "spec": {"podSelector": {}}}
    found = installed_with(POLICIES, [policy])
    assert [(one.name, one.guards_ingress) for one in found.network_policies.items] == [("guard", True)]


def installed_with(key: tuple[str, str, str], items: list):
    deployment = controller(Install(cluster="test", version="0.37.8"), [NODE])[0]
    return inventory_of(objects=dict(CORE) | {DEPLOYMENTS: [deployment], key: items})


def test_crds_of_others_are_dropped():
    foreign = {"metadata": {"name": "redis.example.org"}, "spec": {"group": "example.org"}}
    found = installed_with(CRDS, [foreign, *helm_crds("0.37.8")])
    assert {crd.spec.group for crd in found.crds.items} == {"karpenter.sh", "karpenter.k8s.aws"}


def test_a_crd_tells_its_fields_and_who_wrote_the_conversion():
    doc = next(one for one in helm_crds("1.9.0") if one["metadata"]["name"] == "nodeclaims.karpenter.sh")
    owned = {"f:spec": {"f:conversion": {"f:webhook": {}}}}
    doc["metadata"]["managedFields"] = [
        {"manager": "karpenter", "fieldsV1": owned},
        {"manager": "helm", "fieldsV1": {"f:spec": {"f:versions": {}}}},
        {"manager": "odd", "fieldsV1": "x"},
    ]
    found = read_crd(msgspec.Raw(json.dumps(doc).encode()))
    assert isinstance(found, CRD)
    assert found.conversion_owners == ["karpenter"]
    assert [version.fields for version in found.spec.versions or ()] == [["spec.requirements[].operator=Gte"]]


@pytest.mark.parametrize("odd", [None, "x", [], {"manager": 5}])
def test_odd_field_managers_do_no_harm(odd):
    doc = helm_crds("1.9.0")[0]
    doc["metadata"]["managedFields"] = [odd]
    assert read_crd(msgspec.Raw(json.dumps(doc).encode())) is not None
