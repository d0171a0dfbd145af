"""RBAC for test users: creates a ClusterRole with its binding, and waits until the server applies them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.servers.api_client import Client, Document
from tests.servers.waiting import eventually

_GROUP = "rbac.authorization.k8s.io"
_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def grant(admin: Client, *, role: str, user: str, rules: Sequence[Document]) -> None:
    """Lets the user do in the whole cluster what these PolicyRules allow."""
    admin.create(_document("ClusterRole", role, rules=list(rules)))
    subject = {"kind": "User", "name": user, "apiGroup": _GROUP}
    reference = {"kind": "ClusterRole", "name": role, "apiGroup": _GROUP}
    admin.create(_document("ClusterRoleBinding", role, subjects=[subject], roleRef=reference))


def wait_for_access(client: Client, rules: Sequence[Document]) -> None:
    """Returns when the server lets the client do what the rules allow: its authorizer applies RBAC with a delay."""
    for rule in rules:
        question = _question(rule)
        eventually(partial(_is_allowed, client, question), what=f"the right to {question}")


def _document(kind: str, name: str, **content: Any) -> Document:
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": {"name": name}, **content}


def _question(rule: Document) -> Document:
    verb = rule["verbs"][0]
    if "nonResourceURLs" in rule:
        return {"nonResourceAttributes": {"path": rule["nonResourceURLs"][0].rstrip("*"), "verb": verb}}
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {"group": rule["apiGroups"][0], "resource": resource, "subresource": subresource, "verb": verb}
    return {"resourceAttributes": {**attributes, "name": rule.get("resourceNames", [""])[0]}}


def _is_allowed(client: Client, question: Document) -> bool:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": question}
    return bool(client.request("POST", _REVIEW, body=review).good()["status"]["allowed"])
