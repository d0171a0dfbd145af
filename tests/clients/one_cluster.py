"""A cluster on loopback that says its version, allows everything, and has a namespace kube-system of that uid."""

import json

from tests.clients.kubernetes.kubeconfigs import b64, dump, kubeconfig
from tests.fakes.evilk8s import AUTHORITY, EvilServer, Request, Wire

TOKEN = "canary-token-77b1"


class OneCluster:
    """The script of an EvilServer; `uid` may change, and empty means that nobody may read the namespace."""

    def __init__(self, uid: str = "uid-1") -> None:
        self.uid = uid

    def __call__(self, request: Request, wire: Wire) -> None:
        if request.path == "/version":
            wire.answer(b'{"major": "1", "minor": "30", "gitVersion": "v1.30.1"}')
        elif request.path == "/api/v1/namespaces/kube-system" and self.uid:
            wire.answer(json.dumps({"metadata": {"name": "kube-system", "uid": self.uid}}).encode())
        elif request.method == "POST":
            wire.answer(b'{"status": {"allowed": true}}', status="201 Created")
        else:
            wire.answer(b'{"reason": "Forbidden"}', status="403 Forbidden")


def kubeconfig_for(server: EvilServer, *, token: str = TOKEN) -> str:
    """A kubeconfig that leads there."""
    entry = {"server": f"https://127.0.0.1:{server.port}", "certificate-authority-data": b64(AUTHORITY.pem)}
    return dump(kubeconfig(user={"token": token}, cluster=entry)).decode()
