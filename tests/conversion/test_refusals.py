"""What the CRDs refuse, with its path and words; test_references.py compares the rules with the CRDs themselves."""

from typing import Any

import pytest

from migrations_app.conversion.convert import convert
from migrations_app.conversion.objects import Options
from migrations_app.conversion.refusals import EMPTY, OLDER, REFUSED, CrdRefusal, refusals

_NETWORKS = {"subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}]}


def node_class(version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"karpenter.k8s.aws/{version}",
        "kind": "EC2NodeClass",
        "spec": {"role": "r", **_NETWORKS, **({} if version == "v1" else {"amiFamily": "AL2"}), **spec},
    }


def pool(version: str = "v1beta1", **disruption: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {"nodeClassRef": {"name": "c"}, "requirements": []}}, "disruption": disruption}
    return {"apiVersion": f"karpenter.sh/{version}", "kind": "NodePool", "spec": spec}


def beta_pool(template: dict[str, Any]) -> dict[str, Any]:
    return {**pool(), "metadata": {"name": "p"}, "spec": {"template": template}}


@pytest.mark.parametrize(
    "body",
    [
        node_class(),
        node_class(amiSelectorTerms=[{"alias": "al2023@latest"}]),
        node_class("v1beta1", amiSelectorTerms=[{"id": "ami-1", "owner": "self"}, {"name": "x", "owner": "self"}]),
        node_class(amiSelectorTerms=[{"id": "${ARM_AMI_ID}"}]),
        pool(budgets=[]),
        pool(budgets=[{"nodes": "100%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h0m0s"}]),
        pool("v1", consolidationPolicy="WhenEmptyOrUnderutilized", consolidateAfter="30s"),
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"},
        {"apiVersion": "v1", "kind": "Pod"},
    ],
)
def test_nothing_is_refused(body: dict[str, Any]) -> None:
    assert list(refusals(body)) == []


def test_an_empty_term() -> None:
    what = "{} selects by none of id, tags; write one of them before applying"
    assert list(refusals(node_class(subnetSelectorTerms=[{"id": "subnet-1"}, {}]))) == [
        CrdRefusal(EMPTY, ("spec", "subnetSelectorTerms", 1), what)
    ]


def test_an_id_beside_other_filters_in_one_image_term() -> None:
    terms = [{"id": "ami-1", "tags": {"a": "b"}, "owner": "self"}, {"name": "x"}]
    what = "id beside tags, owner; keep one of the two"
    assert list(refusals(node_class(amiSelectorTerms=terms))) == [
        CrdRefusal(REFUSED, ("spec", "amiSelectorTerms", 0), what)
    ]
    assert list(refusals(node_class("v1beta1", amiSelectorTerms=terms))) == []


@pytest.mark.parametrize(
    ("budget", "path", "what"),
    [
        ({"nodes": "110%"}, "nodes", '"110%" is neither a number nor 0% to 100%'),
        ({"nodes": "1\n"}, "nodes", '"1\\n" is neither a number nor 0% to 100%'),
        (
            {"nodes": "1", "schedule": "x@daily", "duration": "1h"},
            "schedule",
            '"x@daily" is no schedule such as @daily or 0 9 * * 1',
        ),
        (
            {"nodes": "1", "schedule": "@daily", "duration": "30s"},
            "duration",
            '"30s" is not of whole hours and minutes as in 1h30m',
        ),
        (
            {"nodes": "1", "duration": "1h"},
            None,
            "schedule and duration belong together, and only one of them is given",
        ),
    ],
)
def test_a_budget(budget: dict[str, str], path: str | None, what: str) -> None:
    at = ("spec", "disruption", "budgets", 0)
    assert list(refusals(pool(budgets=[budget]))) == [CrdRefusal(REFUSED, at if path is None else (*at, path), what)]


def test_findings_about_an_alpha_object_name_its_own_fields() -> None:
    template = {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "t"},
        "spec": {"subnetSelector": {"a": "b"}, "securityGroupSelector": {}, "amiSelector": {"aws::owners": "self"}},
    }
    provisioner = {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "p"},
        "spec": {"providerRef": {"name": "t"}, "labels": {"a": "x y"}},
    }
    losses = convert([template, provisioner], Options(node_role="r")).losses
    assert [(loss.code, loss.kind, loss.path) for loss in losses if loss.severity == "action"] == [
        ("selector-missing", "AWSNodeTemplate", "spec.securityGroupSelector"),
        (EMPTY, "AWSNodeTemplate", "spec.amiSelector"),
        (REFUSED, "Provisioner", "spec.labels.a"),
    ]


def test_a_v1_object_is_not_judged() -> None:
    """Newer releases accept more than these rules know."""
    body = {**node_class(amiSelectorTerms=[{"ssmParameter": "x"}]), "metadata": {"name": "c"}}
    assert [loss.code for loss in convert([body]).losses] == ["already-v1"]


_REF = {"nodeClassRef": {"name": "c"}, "requirements": []}


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (beta_pool({"spec": _REF}), []),
        (
            beta_pool({}),
            [(REFUSED, "spec.template.spec.nodeClassRef"), (REFUSED, "spec.template.spec.requirements")],
        ),
        (beta_pool({"spec": {**_REF, "nodeClassRef": {"kind": "X"}}}), [(REFUSED, "spec.template.spec.nodeClassRef")]),
        (
            beta_pool(
                {
                    "metadata": {"labels": {"team": "a", "karpenter.sh/nodepool": "p"}},
                    "spec": {
                        **_REF,
                        "requirements": [
                            {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Exists"},
                            {"key": "karpenter.k8s.aws/instance-type", "operator": "Exists"},
                        ],
                    },
                }
            ),
            [
                (REFUSED, "spec.template.spec.requirements[1].key"),
                (REFUSED, "spec.template.metadata.labels[karpenter.sh/nodepool]"),
            ],
        ),
        (
            beta_pool({"spec": {**_REF, "kubelet": {"systemReserved": {"gpu": "1"}}}}),
            [("kubelet-invalid", "spec.template.spec.kubelet.systemReserved.gpu")],
        ),
        ({**node_class("v1beta1", amiFamily=None), "metadata": {"name": "c"}}, [(REFUSED, "spec.amiFamily")]),
        (
            {**node_class("v1beta1", amiFamily="Custom"), "metadata": {"name": "c"}},
            [(REFUSED, "spec.amiSelectorTerms")],
        ),
        (
            {
                **node_class("v1beta1", blockDeviceMappings=[{"ebs": {"snapshotID": "s"}}, {"ebs": {"iops": 9}}]),
                "metadata": {"name": "c"},
            },
            [("ebs-size-missing", "spec.blockDeviceMappings[1].ebs")],
        ),
    ],
    ids=range(8),
)
def test_what_v1beta1_refuses_in_an_object_that_stays_v1beta1(
    body: dict[str, Any], refused: list[tuple[str, str]]
) -> None:
    losses = convert([body], Options(to="v1beta1")).losses
    assert [(loss.code, loss.path) for loss in losses if loss.code != "already-v1beta1"] == refused


def v1_pool(**spec: Any) -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "c"}
    inner = {"nodeClassRef": reference, "requirements": [], **spec.pop("inner", {})}
    body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}}
    return body | {"spec": {"template": {"spec": inner}, **spec}}


@pytest.mark.parametrize(
    ("body", "older"),
    [
        (v1_pool(inner={"expireAfter": "24h"}), []),
        (
            v1_pool(disruption={"consolidateAfter": "1m", "expireAfter": "24h"}),
            [("spec.disruption.expireAfter", '"24h" here; write it as spec.template.spec.expireAfter')],
        ),
        (
            v1_pool(inner={"kubelet": {"maxPods": 20}}),
            [("spec.template.spec.kubelet", '{"maxPods": 20} here; write it as spec.kubelet of the EC2NodeClass')],
        ),
        (v1_pool(inner={"resources": {}}), [("spec.template.spec.resources", "{} here; take it out")]),
        (
            v1_pool(inner={"nodeClassRef": {"apiVersion": "karpenter.k8s.aws/v1", "name": "c"}}),
            [
                (
                    "spec.template.spec.nodeClassRef.apiVersion",
                    '"karpenter.k8s.aws/v1" here; write it as group, without the version',
                )
            ],
        ),
        (
            v1_pool(providerRef={"name": "t"}, ttlSecondsUntilExpired=0),
            [
                ("spec.providerRef", '{"name": "t"} here; write it as spec.template.spec.nodeClassRef'),
                ("spec.ttlSecondsUntilExpired", "0 here; write it as spec.template.spec.expireAfter"),
            ],
        ),
        (
            {**node_class(subnetSelector={"a": "b"}), "metadata": {"name": "c"}},
            [("spec.subnetSelector", '{"a": "b"} here; write it as spec.subnetSelectorTerms')],
        ),
        (v1_pool(template={"spec": "x"}, disruption=None, labels=None), None),
        (v1_pool(fieldOfTomorrow={"a": "b"}), []),
    ],
    ids=range(9),
)
def test_a_v1_object_with_fields_of_an_older_generation(
    body: dict[str, Any], older: list[tuple[str, str]] | None
) -> None:
    result = convert([body])
    found = [(loss.path, loss.what.rpartition(", which is ")[2]) for loss in result.losses if loss.code == OLDER]
    assert found == (older or [])
    assert older is None or result.objects == [body]


def test_an_id_of_another_kind() -> None:
    what = '"subnet456" is no id, which begins with subnet-'
    assert list(refusals(node_class(subnetSelectorTerms=[{"id": "subnet456"}]))) == [
        CrdRefusal(REFUSED, ("spec", "subnetSelectorTerms", 0, "id"), what)
    ]


LONG = 500_000


@pytest.mark.parametrize(
    "schedule", ["a" * LONG, "a b c " + "a" * LONG, "a\n\n" * (LONG // 3), "   " + "a" * LONG], ids=range(4)
)
def test_a_schedule_as_long_as_a_request_is_read_once(schedule: str) -> None:
    """A search that begins anew at each character would outlast the time limit of the test."""
    body = pool(budgets=[{"nodes": "1", "schedule": schedule, "duration": "1h"}])
    assert [refusal.path[-1] for refusal in refusals(body)] == ["schedule"]


@pytest.mark.parametrize("schedule", ["\n0 9 * * 1", "x\n0 9 * * 1", "@dailyx", "a b c d\ne", "0\n9 * * 1"])
def test_five_fields_are_found_anywhere_as_the_crd_finds_them(schedule: str) -> None:
    assert list(refusals(pool(budgets=[{"nodes": "1", "schedule": schedule, "duration": "1h"}]))) == []


@pytest.mark.parametrize("schedule", ["x\n@daily", "a b c d", "a\n\nb c d"])
def test_less_is_no_schedule(schedule: str) -> None:
    assert list(refusals(pool(budgets=[{"nodes": "1", "schedule": schedule, "duration": "1h"}])))


@pytest.mark.parametrize(
    ("requirement", "path", "what"),
    [
        ({"operator": "In"}, "values", "In needs at least one value"),
        ({"operator": "Gt", "values": ["x"]}, "values", "Gt needs exactly one whole number, written as text"),
        ({"operator": "Lt", "values": ["9" * 5000]}, "values", "Lt needs exactly one whole number, written as text"),
        ({"operator": "Gt", "values": [str(2**63)]}, "values", "Gt needs exactly one whole number, written as text"),
    ],
)
def test_values_of_a_beta_pool_that_is_printed_as_it_is(requirement: dict[str, Any], path: str, what: str) -> None:
    body = beta_pool({"spec": {**_REF, "requirements": [{"key": "a", **requirement}]}})
    at = ("spec", "template", "spec", "requirements", 0, path)
    assert list(refusals(body)) == [CrdRefusal(REFUSED, at, what)]
    losses = convert([body], Options(to="v1beta1")).losses
    assert [(loss.code, loss.at) for loss in losses if loss.severity == "action"] == [(REFUSED, at)]


def test_whole_numbers_of_64_bits_with_zeros_in_front() -> None:
    rows = [
        {"key": "a", "operator": "Gt", "values": [value]} for value in ("0", "0" * 30, f"000{2**63 - 1}", "${LEAST}")
    ]
    assert list(refusals(beta_pool({"spec": {**_REF, "requirements": rows}}))) == []


@pytest.mark.parametrize("length", [316, 317])
def test_a_key_longer_than_a_requirement_takes(length: int) -> None:
    body = beta_pool({"spec": {**_REF, "requirements": [{"key": "a" * length, "operator": "Exists"}]}})
    at = ("spec", "template", "spec", "requirements", 0, "key")
    assert [refusal.path for refusal in refusals(body)] == ([at] if length > 316 else [])


def test_resources_of_a_beta_pool() -> None:
    body = beta_pool({"spec": {**_REF, "resources": {"requests": {"cpu": "1"}}}})
    what = '{"requests": {"cpu": "1"}} is given, and only an empty map is accepted'
    assert list(refusals(body)) == [CrdRefusal(REFUSED, ("spec", "template", "spec", "resources"), what)]
    assert list(refusals(beta_pool({"spec": {**_REF, "resources": {}}}))) == []


def test_tags_of_a_beta_class_that_is_printed_as_it_is() -> None:
    tags = {
        "team": "a",
        "karpenter.sh/provisioner-name": "x",
        "karpenter.sh/nodeclaim": "x",
        "karpenter.k8s.aws/ec2nodeclass": "x",
        "eks:eks-cluster-name": "x",
        "": "x",
    }
    refused = ("karpenter.sh/provisioner-name", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "")
    found = list(refusals(node_class("v1beta1", tags=tags)))
    assert [refusal.path for refusal in found] == [("spec", "tags", key) for key in refused]
    assert found[-1].what == "a tag without a key"


def test_a_template_gets_no_tag_that_a_later_beta_release_refuses() -> None:
    template = {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "t"},
        "spec": {
            "subnetSelector": {"a": "b"},
            "securityGroupSelector": {"a": "b"},
            "tags": {"karpenter.sh/nodeclaim": "x", "karpenter.k8s.aws/ec2nodeclass": "x", "team": "a"},
        },
    }
    result = convert([template], Options(node_role="r"))
    assert result.objects[0]["spec"]["tags"] == {"team": "a"}
    assert [loss.path for loss in result.losses if loss.code == "restricted-tag-dropped"] == [
        "spec.tags[karpenter.sh/nodeclaim]",
        "spec.tags[karpenter.k8s.aws/ec2nodeclass]",
    ]
