"""A conversion webhook on loopback that changes only the apiVersion, for tests that do not look at fields."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.evilk8s import AUTHORITY, EvilServer, Request, Wire


def answer(request: Request, wire: Wire) -> None:
    review = json.loads(request.body)
    conversion_request = review["request"]
    converted = [
        document | {"apiVersion": conversion_request["desiredAPIVersion"]} for document in conversion_request["objects"]
    ]
    response = {"uid": conversion_request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
    wire.answer(json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode())


@contextmanager
def conversion_webhook() -> Iterator[dict[str, Any]]:
    """Returns the conversion of a CRD that calls the webhook; the webhook runs during the block."""
    with EvilServer(answer) as server:
        client = {"url": server.url, "caBundle": base64.b64encode(AUTHORITY.pem.encode()).decode()}
        webhook = {"conversionReviewVersions": ["v1", "v1beta1"], "clientConfig": client}
        yield {"strategy": "Webhook", "webhook": webhook}


@contextmanager
def service_webhook(address: str, *, name: str) -> Iterator[list[str]]:
    """Runs the controller's webhook behind the Service of that address and DNS name, with a path for each API group;
    returns the list of called paths.
    """
    calls: list[str] = []

    def script(request: Request, wire: Wire) -> None:
        calls.append(request.path)
        group = json.loads(request.body)["request"]["desiredAPIVersion"].partition("/")[0]
        if request.path == f"/conversion/{group}":
            answer(request, wire)
        else:
            wire.answer(b"no such path", status="404 Not Found")

    with EvilServer(script, pair=AUTHORITY.issue(names=(name,)), place=(address, 8443)):
        yield calls
