"""Which fields of v1 objects are required: what the rows say, and the CRDs of Karpenter."""

from typing import Any

import pytest

from migrations_app.conversion.convert import convert
from migrations_app.conversion.findings import field_path
from migrations_app.conversion.required_fields import missing_fields
from tests import upstream
from tests.conversion.test_refusals import v1_pool

CLASS = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "c"}}
TERMS = {f"{name}SelectorTerms": [{"id": "x"}] for name in ("ami", "subnet", "securityGroup")}
REFERENCE = "spec.template.spec.nodeClassRef"


def missing(body: dict[str, Any]) -> list[str]:
    return [field_path(refusal.path) for refusal in missing_fields(body)]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (v1_pool(), []),
        (v1_pool(inner={"nodeClassRef": None}), [REFERENCE]),
        (v1_pool(inner={"nodeClassRef": {"name": "c"}}), [f"{REFERENCE}.group", f"{REFERENCE}.kind"]),
        (v1_pool(inner={"requirements": None}), ["spec.template.spec.requirements"]),
        (v1_pool(disruption={"consolidationPolicy": "WhenEmpty"}), ["spec.disruption.consolidateAfter"]),
        (v1_pool(disruption={"consolidateAfter": "0s", "budgets": [{"reasons": ["Empty"]}]}), []),
        (
            v1_pool(inner={"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b"}], "startupTaints": [{}]}),
            [
                "spec.template.spec.taints[1].effect",
                "spec.template.spec.startupTaints[0].key",
                "spec.template.spec.startupTaints[0].effect",
            ],
        ),
        (v1_pool(inner={"requirements": [{"key": "a"}]}), ["spec.template.spec.requirements[0].operator"]),
        (v1_pool(template={}), ["spec.template.spec"]),
        ({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}, ["spec"]),
        ({**CLASS, "spec": {**TERMS, "role": "r"}}, []),
        ({**CLASS, "spec": {**TERMS, "amiSelectorTerms": [], "instanceProfile": "p"}}, ["spec.amiSelectorTerms"]),
        ({**CLASS, "spec": {"amiFamily": "AL2023", "role": "r"}}, [f"spec.{name}" for name in TERMS]),
        ({**CLASS, "spec": TERMS}, ["spec.role"]),
        ({**CLASS, "spec": {**TERMS, "role": "r", "instanceProfile": "p"}}, ["spec.instanceProfile"]),
        ({**CLASS, "apiVersion": "karpenter.k8s.aws/v1beta1", "spec": {}}, []),
        ({**CLASS, "spec": "x"}, []),
    ],
    ids=range(17),
)
def test_fields_that_are_missing(body: dict[str, Any], wanted: list[str]) -> None:
    assert missing(body) == wanted


def test_convert_says_what_the_api_server_refuses_of_a_v1_object() -> None:
    result = convert([v1_pool(inner={"nodeClassRef": {"name": "c", "kind": "EC2NodeClass"}})])
    found = [(loss.code, loss.path, loss.what) for loss in result.losses if loss.severity == "action"]
    what = "group is missing, and v1 requires it: karpenter.k8s.aws for an EC2NodeClass"
    assert found == [("api-refuses", f"{REFERENCE}.group", what)]


def required(schema: dict[str, Any], path: str) -> set[str]:
    """The required fields without a default, below that path."""
    fields = schema.get("properties", {})
    found = {f"{path}.{name}" for name in schema.get("required", []) if "default" not in fields[name]}
    for name, field in fields.items():
        found |= required(field, f"{path}.{name}")
    return found | (required(schema["items"], f"{path}[0]") if isinstance(schema.get("items"), dict) else set())


EMPTY: dict[str, dict[str, Any]] = {
    "NodePool": v1_pool(
        inner={"requirements": [{}], "taints": [{}], "startupTaints": [{}], "nodeClassRef": {}}, disruption={}
    ),
    "EC2NodeClass": {**CLASS, "spec": {}},
}
OPEN = {
    "NodePool": {"spec.template", "spec.template.spec", REFERENCE, "spec.template.spec.requirements"},
    "EC2NodeClass": set[str](),
}
"""Required fields that the empty object has, because others lie below them."""
LATER = ("spec.networkInterfaces",)
"""Fields that came after 1.0 and are not required themselves."""


@pytest.mark.parametrize("tag", ["v1.0.14", "v1.1.9", "v1.14.1"])
@pytest.mark.parametrize(
    ("kind", "file"), [("NodePool", "karpenter.sh_nodepools"), ("EC2NodeClass", "karpenter.k8s.aws_ec2nodeclasses")]
)
def test_the_rows_are_those_of_the_crds(tag: str, kind: str, file: str) -> None:
    versions = upstream.crd(tag, file)["spec"]["versions"]
    schema = next(row["schema"]["openAPIV3Schema"] for row in versions if row["name"] == "v1")
    wanted = {path for path in required(schema["properties"]["spec"], "spec") if not path.startswith(LATER)}
    assert set(missing(EMPTY[kind])) - {"spec.role"} == wanted - OPEN[kind]


def test_a_budget_without_nodes_is_ten_percent_by_default() -> None:
    body = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "p"}}
    budget = {"schedule": "@daily", "duration": "1h"}
    inner = {"nodeClassRef": {"name": "c"}, "requirements": []}
    spec = {"template": {"spec": inner}, "disruption": {"budgets": [budget]}}
    (pool,) = convert([{**body, "spec": spec}]).objects
    assert pool["spec"]["disruption"]["budgets"] == [budget]


def test_the_group_of_a_node_class_has_no_version() -> None:
    body = v1_pool(inner={"nodeClassRef": {"group": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "name": "c"}})
    (refusal,) = missing_fields(body)
    assert (field_path(refusal.path), refusal.what) == (
        f"{REFERENCE}.group",
        "karpenter.k8s.aws/v1 has a version; write karpenter.k8s.aws",
    )
