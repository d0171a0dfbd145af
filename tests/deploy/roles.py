"""The published roles on a real API server: applied as files, bound as the docs say, used by a kubeconfig."""

import secrets
from pathlib import Path
from typing import Any

import yaml

from tests.servers.access import wait_for_access
from tests.servers.api_client import Document
from tests.servers.apiserver import ApiServer

DEPLOY = Path(__file__).parents[2] / "deploy"
GROUP = "rbac.authorization.k8s.io"


def roles(name: str) -> list[Document]:
    """The ClusterRoles of a file below deploy/rbac."""
    return list(yaml.safe_load_all((DEPLOY / "rbac" / name).read_text()))


def scan_of_agent() -> tuple[list[Any], list[Any]]:
    """The rules of deploy/rbac/scan.yaml for an agent: all but the watches, which it never passes on."""
    scan, releases = (one["rules"] for one in roles("scan.yaml"))
    lists = [rule for rule in scan if "watch" not in rule["verbs"]]
    assert len(lists) == len(scan) - 1
    return lists, releases


def bound(server: ApiServer, *, acting: bool = False, releases_in: str = "kube-system") -> str:
    """The kubeconfig of a new user who holds these roles and nothing else."""
    user = f"karpdash-{secrets.token_hex(4)}"
    scan, releases = roles("scan.yaml")
    given = [scan, *(roles("act.yaml") if acting else ())]
    for role in (*given, releases):
        server.admin.apply(role)
    for role in given:
        server.admin.create(_binding("ClusterRoleBinding", role, user=user))
    server.admin.create(_binding("RoleBinding", releases, user=user, namespace=releases_in))
    pair = server.client_cert(user)
    client = server.client(certificate=pair)
    for role in given:
        wait_for_access(client, role["rules"])
    return server.kubeconfig(certificate=pair)


def bound_in(server: ApiServer, namespace: str) -> str:
    """The kubeconfig of a new user who may scan and act, and change the deliveries of that namespace."""
    user = f"karpdash-{secrets.token_hex(4)}"
    scan, _ = roles("scan.yaml")
    (act,) = roles("act.yaml")
    deliveries, leader = roles("deliveries.yaml")
    for role in (scan, act, deliveries, leader):
        server.admin.apply(role)
    for role in (scan, act):
        server.admin.create(_binding("ClusterRoleBinding", role, user=user))
    server.admin.create(_binding("RoleBinding", deliveries, user=user, namespace=namespace))
    server.admin.create(_binding("RoleBinding", leader, user=user, namespace="kube-system"))
    pair = server.client_cert(user)
    wait_for_access(server.client(certificate=pair), act["rules"])
    return server.kubeconfig(certificate=pair)


def _binding(kind: str, role: Document, *, user: str, namespace: str = "") -> Document:
    name = role["metadata"]["name"]
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": f"{name}-{user}"} | place,
        "subjects": [{"kind": "User", "name": user, "apiGroup": GROUP}],
        "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": GROUP},
    }
