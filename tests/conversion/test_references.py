"""Objects of all generations that refer to each other, with parts left out or replaced."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrations_app.conversion.convert import convert
from migrations_app.conversion.objects import Options
from migrations_app.conversion.reports.report import convert_texts
from tests.conversion import crd_checks


def _object(api: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "blue"}, "spec": spec}


_class_ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "blue"}
_v1_settings = {
    "maxPods": 5,
    "kubeReserved": {"cpu": "1"},
    "evictionSoft": {"memory.available": "5%"},
    "evictionSoftGracePeriod": {"memory.available": "90s"},
}
_parked = {"compatibility.karpenter.sh/v1beta1-kubelet-conversion": '{"maxPods": 7}'}
_v1_pool_spec = {
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeClassRef": _class_ref, "requirements": []}},
    "disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "1"}]},
    "limits": {"nvidia.com/gpu": 1},
}
_v1_pool = _object("karpenter.sh/v1", "NodePool", _v1_pool_spec)
_beta_class_spec = {
    "amiFamily": "AL2023",
    "role": "r",
    "amiSelectorTerms": [{"id": "ami-1"}, {"tags": {"a": "b"}}],
    "subnetSelectorTerms": [{"id": "subnet-1"}],
    "securityGroupSelectorTerms": [{"name": "x"}],
    "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "1Gi"}}],
    "metadataOptions": {"httpTokens": "required"},
}
_beta_pool_spec = {
    "template": {
        "metadata": {"annotations": {"karpenter.sh/do-not-consolidate": "true"}},
        "spec": {
            "nodeClassRef": {"name": "blue"},
            "kubelet": _v1_settings,
            "requirements": [{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}],
            "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}],
        },
    },
    "disruption": {"budgets": [{"nodes": "1", "schedule": "@daily", "duration": "1h"}]},
}
_v1_class_spec = {**_beta_class_spec, "amiSelectorTerms": [{"alias": "al2023@latest"}], "kubelet": _v1_settings}
_provisioner_spec = {
    "providerRef": {"name": "blue"},
    "kubeletConfiguration": _v1_settings,
    "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}],
    "labels": {"a": "b"},
}
_networks = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}
_linked = (
    _v1_pool,
    {**_v1_pool, "metadata": {"name": "parked", "annotations": _parked}},
    _object("karpenter.k8s.aws/v1", "EC2NodeClass", _v1_class_spec),
    _object("karpenter.sh/v1beta1", "NodePool", _beta_pool_spec),
    _object("karpenter.k8s.aws/v1beta1", "EC2NodeClass", _beta_class_spec),
    _object("karpenter.sh/v1beta1", "NodeClaim", {"nodeClassRef": {"name": "blue"}, "requirements": []}),
    _object("karpenter.sh/v1alpha5", "Provisioner", _provisioner_spec),
    _object("karpenter.sh/v1alpha5", "Provisioner", {"provider": _networks}),
    _object(
        "karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", {**_networks, "amiSelector": {"aws::name": "x", "a": "b"}}
    ),
)
_holes = (None, {}, [], "", 0, "x", ["x"], {"x": "x"})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything below apiVersion and kind that an object holds."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if key not in ("apiVersion", "kind"):
            yield (*path, key)
            yield from _places(inner, (*path, key))


def _holed(body: dict[str, Any], path: tuple[Any, ...], *holes: Any) -> dict[str, Any]:
    """A copy with the hole at that path, or without what is there."""
    *above, last = path
    whole = copy.deepcopy(body)
    place: Any = whole
    for key in above:
        place = place[key]
    if holes:
        place[last] = copy.deepcopy(holes[0])
    else:
        del place[last]
    return whole


def _assert_converted(bodies: list[dict[str, Any]], to: Any) -> None:
    """Converted without an exception, and nothing that has an error is printed."""
    report = convert_texts([("mix", json.dumps(body)) for body in bodies], Options(to=to))
    assert len(report.converted) == len(bodies)
    for one in report.converted:
        assert one.objects == [] or not any(loss.severity == "error" for loss in one.item.losses)
    assert (report.as_yaml() == "") == (report.objects == [])


@pytest.mark.parametrize("index", range(len(_linked)), ids=lambda index: f"{index}-{_linked[index]['kind']}")
def test_no_single_hole_in_linked_objects_raises(index: int) -> None:
    body, others = _linked[index], _linked[:index] + _linked[index + 1 :]
    for path in _places(body):
        for holed in (_holed(body, path), *(_holed(body, path, hole) for hole in (None, "x", {}))):
            for other in others:
                result = convert([holed, other])
                assert len(result.items) == 2


@st.composite
def _with_holes(draw: st.DrawFn, body: dict[str, Any]) -> dict[str, Any]:
    """The object with up to three of its parts left out, or with something else in their places."""
    holed = body
    for _ in range(draw(st.integers(0, 3))):
        places = list(_places(holed))
        if places:
            hole = draw(st.sampled_from([(), *((value,) for value in _holes)]))
            holed = _holed(holed, draw(st.sampled_from(places)), *hole)
    return holed


_mix = st.lists(st.sampled_from(_linked).flatmap(_with_holes), min_size=2, max_size=4)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bodies=_mix, to=st.sampled_from([None, "v1beta1", "v1"]))
def test_no_holes_in_linked_objects_raise(bodies: list[dict[str, Any]], to: Any) -> None:
    _assert_converted(bodies, to)


_wrong = ("110%", "a b!", {"a": ""}, [{}], 200)


@pytest.mark.parametrize("index", [3, 4, 6, 7, 8], ids=lambda index: f"{index}-{_linked[index]['kind']}")
def test_what_the_crds_refuse_is_an_open_decision(index: int) -> None:
    body, printed = _linked[index], 0
    others = [_linked[4]] if body["kind"] == "NodePool" else []
    for path in _places(body):
        for holed in (_holed(body, path), *(_holed(body, path, hole) for hole in (*_holes, *_wrong))):
            for to in (None, "v1"):
                item, *_ = convert([holed, *others], Options(to=to, node_role="r")).items
                if not any(loss.severity == "action" for loss in item.losses):
                    assert [crd_checks.refusals(one) for one in item.objects] == [[] for _ in item.objects], holed
                    printed += len(item.objects)
    assert printed > 20
