"""Objects of v1beta1 after a landing, beside a scan of the same cluster in v1 and beside our own conversion."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.conversion.convert import convert
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import decoder, read_one
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.karpenter import labels
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import release
from migrations_app.readiness.runbook.effects.as_v1 import converted_to_v1
from migrations_app.readiness.runbook.effects.chart_upgrade import after_upgrade
from migrations_app.readiness.runbook.effects.trees import tree_of
from migrations_app.readiness.runbook.walk import findings_of_hops
from migrations_app.readiness.stage import detect_running_release
from tests.acceptance.clusters import find as clean
from tests.acceptance.clusters import objects
from tests.acceptance.judging import as_list, collected
from tests.builders.clusters import a_cluster
from tests.conversion.case_files import own_cases

PARTS: dict[str, tuple[str, type[o.WholeObject] | type[o.NodeClaim]]] = {
    "NodePool": ("nodepools", o.NodePool),
    "EC2NodeClass": ("ec2nodeclasses", o.EC2NodeClass),
    "NodeClaim": ("nodeclaims", o.NodeClaim),
}
BETA, V1 = "beta-037-read-as-beta", "beta-037"
"""The same cluster, which answers in v1beta1 and in v1."""
MARKS = (labels.KUBELET_COMPATIBILITY, labels.NODE_CLASS_REFERENCE_COMPATIBILITY, labels.UBUNTU_COMPATIBILITY)


NOT_STORED = {"selector-term-empty"}
"""Findings about fields that an API server of v1beta1 drops or refuses: no webhook ever sees them."""
APART = {"controller_role_named", "gitops_applies_current_versions", "pools_and_classes_ready"}
"""What else differs between the two: Pod Identity, which version kubectl applied, conditions of pools."""


def inventory(name: str) -> Inventory:
    one = clean(name)
    return collected(name, as_list(objects(one), kubernetes=one.kubernetes)).inventory


def shown(here: Inventory) -> dict[str, Any]:
    """What the objects say, without what differs between two clusters: names, status and what a tool wrote."""
    found: dict[str, Any] = {}
    for kind, (part, _) in PARTS.items():
        for at, one in enumerate(here.part(part).items):
            assert isinstance(one, o.NamedObject)
            tree = json.loads(json.dumps(tree_of(one)).replace(BETA, V1))
            marks = {key: json.loads(value) for key in MARKS if (value := one.metadata.annotation(key))}
            found[f"{kind} {at}"] = (here.part(part).served, tree.get("spec"), marks, one.api_version)  # type: ignore[union-attr]  # these parts were read
    return found


@pytest.mark.parametrize("to", ["0.37.8", "1.0.14"])
def test_a_landing_shows_what_a_scan_in_v1_shows(to: str) -> None:
    assert shown(after_upgrade(inventory(BETA), release(to))) == shown(after_upgrade(inventory(V1), release(to)))


def test_both_readings_lead_to_the_same_answers_at_every_later_hop() -> None:
    answers = []
    for name in (BETA, V1):
        start = inventory(name)
        hops = path(detect_running_release(start), kubernetes="1.29").hops
        every = [one for found in findings_of_hops(start, hops, checks=all_checks()) for one in found]
        answers.append({(one.hop, one.id): (one.status, one.severity) for one in every if one.hop != hops[0].name})
    assert answers[0].keys() == answers[1].keys()
    assert {name for _, name in (key for key in answers[0] if answers[0][key] != answers[1][key])} == APART


def test_nothing_is_changed_before_v1_is_served_and_nothing_twice() -> None:
    before = inventory("finished-032")
    assert shown(after_upgrade(before, release("0.32.10"))) == shown(before)
    once = after_upgrade(before, release("0.37.8"))
    assert {one.api_version for one in once.nodepools.items} == {"karpenter.sh/v1"}
    assert converted_to_v1(once) is once


def test_what_was_not_read_stays_so() -> None:
    here = replace(inventory(BETA), nodepools=Unseen("forbidden"))
    assert converted_to_v1(here).nodepools == Unseen("forbidden")


def beta_cases() -> Iterator[Any]:
    for case in own_cases():
        bodies = [one for one in case.get("in", ()) if isinstance(one, dict)]
        beta = [one for one in bodies if str(one.get("apiVersion")).endswith("/v1beta1") and one.get("kind") in PARTS]
        if beta and len(beta) == len(bodies):
            yield pytest.param(beta, id=case["name"])


@pytest.mark.parametrize("bodies", tuple(beta_cases()))
def test_the_webhook_and_our_conversion_agree_on_what_both_carry_over(bodies: list[dict[str, Any]]) -> None:
    stored = [
        one for one in convert(bodies).items if one.objects and not NOT_STORED & {loss.code for loss in one.losses}
    ]
    converted = {(one.kind, one.name): one.objects[0] for one in stored}
    here = a_cluster("1.0.14").build()
    for kind, (part, projection) in PARTS.items():
        raw = [msgspec.Raw(msgspec.json.encode(one)) for one in bodies if one["kind"] == kind]
        read = [read_one(one, projection, take=decoder(projection).decode) for one in raw]
        items = tuple(one for one in read if isinstance(one, projection))
        here = replace(here, **{part: Seen(items, None)})
    here = converted_to_v1(here)
    for one in (*here.nodepools.items, *here.ec2nodeclasses.items, *here.nodeclaims.items):
        ours = converted.get((one.kind, one.name))
        if ours is not None:
            assert carried(one.kind, tree_of(one)) == carried(one.kind, ours), one.name


def carried(kind: str, body: dict[str, Any]) -> Any:
    """What the webhook and our conversion write alike. Ours keeps times that the webhook turns into 0s, leaves out
    reasons and owners that v1beta1 does not heed, moves kubelet settings to the class or to a copy of it, writes the
    metadata options out and takes keys away that v1 refuses."""
    spec = body.get("spec") or {}
    inner = (spec.get("template") or {}).get("spec") or {}
    if kind == "EC2NodeClass":
        terms = [{"id": one["id"]} if "id" in one else one for one in spec.get("amiSelectorTerms") or ()]
        return terms, [spec.get(name) for name in ("subnetSelectorTerms", "userData", "instanceStorePolicy")]
    if kind == "NodeClaim":
        return spec["nodeClassRef"], spec["expireAfter"]
    disruption = dict(spec["disruption"])
    if disruption["consolidationPolicy"] == "WhenEmptyOrUnderutilized":
        disruption["consolidateAfter"] = "0s"
    budgets = [{key: one[key] for key in one if key != "reasons"} for one in disruption.pop("budgets", ())]
    reference = inner["nodeClassRef"] | {"name": inner["nodeClassRef"]["name"].partition("-a")[0]}
    return reference, inner["expireAfter"], disruption, budgets, spec.get("weight"), "kubelet" in inner


def test_kubelet_settings_live_on_in_an_annotation_that_the_hop_to_1_1_asks_about() -> None:
    start = inventory(BETA)
    assert isinstance(start.nodepools, Seen)
    (pool, *others) = start.nodepools.items
    body = tree_of(pool)
    body["spec"]["template"]["spec"]["kubelet"] = {"maxPods": 58}
    odd = replace(start, nodepools=replace(start.nodepools, items=(msgspec.convert(body, o.NodePool), *others)))
    after = after_upgrade(odd, release("1.0.14")).nodepools.items[0]
    assert json.loads(after.metadata.annotation(labels.KUBELET_COMPATIBILITY) or "") == {"maxPods": 58}
    assert "kubelet" not in after.get("spec.template.spec")
    hops = path(detect_running_release(odd), kubernetes="1.29").hops
    every = {(one.hop, one.id): one for found in findings_of_hops(odd, hops, checks=all_checks()) for one in found}
    assert every["1.1+", "compatibility_annotations_gone"].status == "fail"


@pytest.mark.parametrize(
    ("spec", "wanted", "mark"),
    [
        ({"amiFamily": "AL2023"}, {"amiSelectorTerms": [{"alias": "al2023@latest"}]}, None),
        ({"amiFamily": "Custom", "amiSelectorTerms": [{"id": "ami-1"}]}, None, None),
        (
            {"amiFamily": "Ubuntu"},
            {"amiFamily": "AL2", "amiSelectorTerms": [{"id": "ami-placeholder"}]},
            "incompatible",
        ),
        (
            {"amiFamily": "Ubuntu", "amiSelectorTerms": [{"id": "ami-1"}]},
            {"amiFamily": "AL2", "amiSelectorTerms": [{"id": "ami-1"}]},
            "amiFamily",
        ),
    ],
    ids=["alias", "custom", "ubuntu without images", "ubuntu with images"],
)
def test_images_of_node_classes(spec: dict[str, Any], wanted: dict[str, Any] | None, mark: str | None) -> None:
    one = o.EC2NodeClass(
        kind="EC2NodeClass", api_version="karpenter.k8s.aws/v1beta1", metadata=o.Metadata(name="a"), spec=spec
    )
    after = converted_to_v1(replace(a_cluster("1.0.14").build(), ec2nodeclasses=Seen((one,)))).ec2nodeclasses.items[0]
    found = {key: value for key, value in (after.spec or {}).items() if key != "blockDeviceMappings"}
    assert (after.api_version, found) == ("karpenter.k8s.aws/v1", wanted or spec)
    assert (mark or "") in (after.metadata.annotation(labels.UBUNTU_COMPATIBILITY) or "")
    assert bool(after.metadata.annotation(labels.UBUNTU_COMPATIBILITY)) is bool(mark)


def test_crds_that_the_chart_holds_no_more_go_unless_objects_are_left() -> None:
    alpha = {"provisioners.karpenter.sh", "machines.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"}
    before = inventory("finished-032")
    assert alpha <= {one.name for one in before.crds.items}
    assert not alpha & {one.name for one in after_upgrade(before, release("0.37.8")).crds.items}
    unread = replace(before, provisioners=Unseen("forbidden"))
    assert alpha & {one.name for one in after_upgrade(unread, release("0.37.8")).crds.items} == {
        "provisioners.karpenter.sh"
    }
    unknown = replace(before, helm_releases=Unseen("forbidden"))
    assert alpha <= {one.name for one in after_upgrade(unknown, release("0.37.8")).crds.items}
