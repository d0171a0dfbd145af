"""Karpenter's conversion webhook between v1beta1 and v1, as far as the simulator's objects need it."""

import base64
import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.evilk8s import AUTHORITY, EvilServer, Request, Wire

Tree = dict[str, Any]
KUBELET = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
GROUP = "karpenter.k8s.aws"
POLICIES = {"WhenUnderutilized": "WhenEmptyOrUnderutilized"}
BACK = {new: old for old, new in POLICIES.items()}


@contextmanager
def conversion_webhook() -> Iterator[Tree]:
    """What a CRD says of its conversion, which is answered while the block lasts."""
    with EvilServer(_answer) as server:
        client = {"url": server.url, "caBundle": base64.b64encode(AUTHORITY.pem.encode()).decode()}
        yield {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}


def converted(one: Tree, wanted: str) -> Tree:
    """The object in the wanted apiVersion."""
    to_v1 = wanted.endswith("/v1")
    if one["apiVersion"] == wanted:
        return one
    found = copy.deepcopy(one) | {"apiVersion": wanted}
    CONVERTERS[one["kind"]](found, to_v1)
    return found


def _pool(one: Tree, to_v1: bool) -> None:
    inner, disruption = one["spec"]["template"]["spec"], one["spec"].setdefault("disruption", {})
    _reference(inner, to_v1)
    marks = one["metadata"].setdefault("annotations", {})
    if to_v1:
        _moved(disruption, inner, "expireAfter")
        if "kubelet" in inner:
            marks[KUBELET] = json.dumps(inner.pop("kubelet"))
    else:
        _moved(inner, disruption, "expireAfter")
        if KUBELET in marks:
            inner["kubelet"] = json.loads(marks.pop(KUBELET))
    if "consolidationPolicy" in disruption:
        policy = disruption["consolidationPolicy"]
        disruption["consolidationPolicy"] = (POLICIES if to_v1 else BACK).get(policy, policy)


def _claim(one: Tree, to_v1: bool) -> None:
    _reference(one["spec"], to_v1)
    if not to_v1:
        one["spec"].pop("expireAfter", None)


def _class(one: Tree, to_v1: bool) -> None:
    spec = one["spec"]
    if to_v1 and "amiSelectorTerms" not in spec:
        spec["amiSelectorTerms"] = [{"alias": f"{spec.get('amiFamily', 'AL2').lower()}@latest"}]
    elif not to_v1 and "amiFamily" not in spec:
        spec["amiFamily"] = "AL2"


def _reference(holder: Tree, to_v1: bool) -> None:
    found = holder.get("nodeClassRef")
    if found is None:
        return
    rest = {"kind": "EC2NodeClass", "name": found["name"]}
    holder["nodeClassRef"] = rest | ({"group": GROUP} if to_v1 else {"apiVersion": f"{GROUP}/v1beta1"})


def _moved(source: Tree, to: Tree, name: str) -> None:
    if name in source:
        to[name] = source.pop(name)


CONVERTERS: dict[str, Callable[[Tree, bool], None]] = {"NodePool": _pool, "NodeClaim": _claim, "EC2NodeClass": _class}


def _answer(request: Request, wire: Wire) -> None:
    review = json.loads(request.body)
    asked = review["request"]
    objects = [converted(one, asked["desiredAPIVersion"]) for one in asked["objects"]]
    told = {"uid": asked["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    wire.answer(json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": told}).encode())
