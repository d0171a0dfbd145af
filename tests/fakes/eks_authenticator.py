"""Stands in for the authenticator of an EKS cluster: accepts a token if its AWS signature is correct (a stub).

The real authenticator sends the signed request to STS. This one knows the secret that the fake STS gave out, and
computes the signature itself, without botocore.
"""

import base64
import hashlib
import hmac
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.aws_server import TAKEN_SECRET, TAKEN_TOKEN


class Authenticator:
    """A token webhook for a kube-apiserver: `flags` returns its command line flags and writes the file that
    they name.
    """

    def __init__(self, cluster: str, *, user: str, groups: list[str]) -> None:
        self.cluster, self.user, self.groups = cluster, user, groups
        self.keys: list[str] = []
        """The access keys of the tokens that were believed."""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def flags(self, folder: Path) -> list[str]:
        path = folder / "webhook.yaml"
        url = f"http://127.0.0.1:{self.server.server_port}/"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "w",
            "clusters": [{"name": "w", "cluster": {"server": url}}],
            "users": [{"name": "w", "user": {}}],
            "contexts": [{"name": "w", "context": {"cluster": "w", "user": "w"}}],
        }
        path.write_text(yaml.safe_dump(document))
        return [f"--authentication-token-webhook-config-file={path}"]

    def status(self, token: str) -> dict[str, Any]:
        url = urllib.parse.urlsplit(_unpacked(token))
        query = dict(urllib.parse.parse_qsl(url.query))
        if query.pop("X-Amz-Signature", "") != _signature(url.netloc, query, cluster=self.cluster):
            return {"authenticated": False}
        self.keys.append(query["X-Amz-Credential"].partition("/")[0])
        return {"authenticated": True, "user": {"username": self.user, "groups": self.groups}}

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _unpacked(token: str) -> str:
    packed = token.removeprefix("k8s-aws-v1.")
    return base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode("latin-1")


def _signature(host: str, query: dict[str, str], *, cluster: str) -> str:
    """Returns the SigV4 signature of GET / with these parameters, by the secret that the fake STS gives out."""
    if query.get("Action") != "GetCallerIdentity" or query.get("X-Amz-Security-Token") != TAKEN_TOKEN:
        return "nobody's"
    pairs = sorted((_quoted(name), _quoted(value)) for name, value in query.items())
    canonical_request = "\n".join(
        ["GET", "/", "&".join(f"{name}={value}" for name, value in pairs),
         f"host:{host}", f"x-k8s-aws-id:{cluster}", "", "host;x-k8s-aws-id", hashlib.sha256(b"").hexdigest()]
    )  # fmt: skip
    scope = query["X-Amz-Credential"].partition("/")[2]
    signed = "\n".join(
        ["AWS4-HMAC-SHA256", query["X-Amz-Date"], scope, hashlib.sha256(canonical_request.encode()).hexdigest()]
    )
    key = f"AWS4{TAKEN_SECRET}".encode()
    for step in (*scope.split("/"), signed):
        key = hmac.digest(key, step.encode(), "sha256")
    return key.hex()


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="-_.~")


def _handler(authenticator: Authenticator) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = authenticator.status(review["spec"]["token"])
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_given: object) -> None:
            return

    return Handler
