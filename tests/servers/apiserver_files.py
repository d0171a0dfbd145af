"""The files and command line flags that a kube-apiserver starts with."""

import ipaddress
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.servers.pki import Authority, key_pem, new_key, public_pem

AUDIT_LOG = "audit.jsonl"
SERVICES = ipaddress.ip_network("127.96.0.0/16")
"""Where addresses of Services are: on loopback, so that a test can answer at the address of a Service."""
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
        {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}


def a_service_address() -> str:
    """Returns the address of a Service; tests that run at the same time on one machine get different ones."""
    return str(SERVICES[random.randrange(16, SERVICES.num_addresses - 16)])


class User(NamedTuple):
    """A line of the static token file."""

    name: str
    token: str
    groups: str = ""


def write(folder: Path, *, serving: Authority, clients: Authority, users: Iterable[User]) -> None:
    """Writes every file that `switches` names."""
    certificate, key = serving.server()
    accounts = new_key()
    lines = (f'{user.token},{user.name},{user.name},"{user.groups}"\n' for user in users)
    contents = {
        "serving.crt": certificate,
        "serving.key": key,
        "clients.crt": clients.pem,
        "accounts.key": key_pem(accounts),
        "accounts.pub": public_pem(accounts),
        "tokens.csv": "".join(lines),
        "audit-policy.json": json.dumps(_AUDIT_POLICY),
    }
    for name, content in contents.items():
        (folder / name).write_text(content)


def switches(folder: Path, *, audit: bool) -> list[str]:
    """Returns the command line flags, without the ports and without etcd."""
    plain = [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--tls-cert-file={folder / 'serving.crt'}",
        f"--tls-private-key-file={folder / 'serving.key'}",
        f"--client-ca-file={folder / 'clients.crt'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICES}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--disable-admission-plugins=ServiceAccount",
        # On in every server from 1.21: a bookmark tells how far etcd is, not only when the kind itself changed.
        # Without priority and fairness, whose metrics take a tenth of the processor time of a server of 1.20.
        "--feature-gates=EfficientWatchResumption=true,APIPriorityAndFairness=false",
    ]
    log = [f"--audit-log-path={folder / AUDIT_LOG}", f"--audit-policy-file={folder / 'audit-policy.json'}"]
    return [*plain, *(log if audit else ())]
