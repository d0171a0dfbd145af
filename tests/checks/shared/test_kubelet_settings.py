"""The split of a class as its remedy prints it, and what is judged once it is made."""

import json

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.registry import all_checks
from migrations_app.checks.shared.kubelet_settings import SPLIT_CHECK, conversion_of_all
from migrations_app.conversion.convert import convert
from migrations_app.manifests import JsonMap
from tests.builders.clusters import remedies, result_of
from tests.builders.pools import a_class, a_pool, at

REMOVAL_CHECK = "compatibility_annotations_gone"
KEY = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
FIRST, SECOND = {"maxPods": 42}, {"maxPods": 20, "systemReserved": {"cpu": "100m"}}


def annotated(**settings: JsonMap | None) -> list[JsonMap]:
    """A class, and pools with these annotations, in the order in which the remedy reads them."""
    marks = {name: {KEY: json.dumps(given)} if given else {} for name, given in settings.items()}
    return [a_class(), *(a_pool({"metadata.annotations": mark}, name=name) for name, mark in marks.items())]


def applied(docs: list[JsonMap]) -> list[JsonMap]:
    """What the cluster holds once what the conversion prints is applied: applying takes no annotation away."""
    marks = {doc["metadata"]["name"]: doc["metadata"].get("annotations") for doc in docs if doc["kind"] == "NodePool"}
    made = convert(docs).objects
    for doc in made:
        if doc["kind"] == "NodePool":
            doc["metadata"]["annotations"] = marks[doc["metadata"]["name"]]
    return made


def test_the_check_that_is_needed_first_is_there() -> None:
    assert SPLIT_CHECK in {check.id for check in all_checks()}


def test_both_kinds_are_read_and_classes_first() -> None:
    get, _ = conversion_of_all(Evidence(kind="NodePool", name="web")).pipe
    assert get[2].split(",") == ["ec2nodeclasses.karpenter.k8s.aws", "nodepools.karpenter.sh"]


@pytest.mark.parametrize("second", [SECOND, None])
def test_a_class_is_printed_before_a_pool_names_it(second: JsonMap | None) -> None:
    result = convert(annotated(web=FIRST, batch=second))
    kinds = [doc["kind"] for doc in result.objects]
    assert kinds == ["EC2NodeClass", "EC2NodeClass", "NodePool", "NodePool"]
    assert [loss.code for loss in result.losses if loss.severity in ("error", "action")] == []
    settings = {doc["metadata"]["name"]: doc["spec"].get("kubelet") for doc in result.objects[:2]}
    used = {
        doc["metadata"]["name"]: settings[doc["spec"]["template"]["spec"]["nodeClassRef"]["name"]]
        for doc in result.objects[2:]
    }
    assert used == {"web": FIRST, "batch": second}


@pytest.mark.parametrize("second", [SECOND, None])
def test_once_the_class_is_split_the_annotations_may_go(second: JsonMap | None) -> None:
    before = annotated(web=FIRST, batch=second)
    assert result_of(SPLIT_CHECK, "1.1+", at("1.0.14", *before))[0] == "fail"
    after = at("1.0.14", *applied(before))
    assert result_of(SPLIT_CHECK, "1.1+", after)[0] == "pass"
    (found,) = remedies(REMOVAL_CHECK, "1.1+", after)
    removals = [line for line in found.text.splitlines() if "annotate" in line]
    assert removals == [
        f"if kubectl get ec2nodeclasses.karpenter.k8s.aws {name} -o 'jsonpath={{.spec.kubelet}}' | grep -q .; then "
        f"kubectl annotate nodepools.karpenter.sh {pool} {KEY}-; else "
        f"echo 'not annotated: nodepools.karpenter.sh {pool}; look first at: "
        f"kubectl get ec2nodeclasses.karpenter.k8s.aws {name}' >&2; false; fi"
        for pool, name in (("web", "default-web"), ("batch", "default"))
        if pool == "web" or second
    ]
    assert not any(line.startswith(("#", "kubectl edit")) for line in found.text.splitlines())
