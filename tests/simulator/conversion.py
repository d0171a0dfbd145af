"""Karpenter's conversion webhook between v1beta1 and v1."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from migrations_app.conversion.webhook import converted
from migrations_app.karpenter.labels import KUBELET_COMPATIBILITY as KUBELET
from tests.fakes.evilk8s import AUTHORITY, EvilServer, Request, Wire

Tree = dict[str, Any]
__all__ = ["KUBELET", "conversion_webhook", "converted"]


@contextmanager
def conversion_webhook() -> Iterator[Tree]:
    """What a CRD says of its conversion, which is answered while the block lasts."""
    with EvilServer(_answer) as server:
        client = {"url": server.url, "caBundle": base64.b64encode(AUTHORITY.pem.encode()).decode()}
        yield {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}


def _answer(request: Request, wire: Wire) -> None:
    review = json.loads(request.body)
    asked = review["request"]
    objects = [converted(one, asked["desiredAPIVersion"]) for one in asked["objects"]]
    told = {"uid": asked["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    wire.answer(json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": told}).encode())
