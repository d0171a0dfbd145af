"""What an answer says about the way in, as one sign: `L` to the sign-in page, `1` not signed in, `3` may not, `4` not
there, `+` let in, whatever comes of it."""

from typing import Any

from django.test import Client
from django.urls import reverse

from tests.access.stage import ROLES, Stage

WORDS = {"slug:id": "crds_served", "slug:code": "not_found", "path:rest": "x"}
SIGNS = {401: "1", 403: "3", 404: "4"}


def sign_of(answer: Any) -> str:
    """A refusal of the door; 5xx is none of them and fails the test."""
    assert answer.status_code < 500, (answer.request["PATH_INFO"], answer.status_code)
    if answer.status_code == 302 and answer.url.startswith("/login?next="):
        return "L"
    return SIGNS.get(answer.status_code, "+")


def asked(client: Client, method: str, address: str, **headers: str) -> str:
    """The sign of one request with an empty body."""
    kind = "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
    body = b"{}" if kind == "application/json" and method in ("POST", "PUT", "PATCH") else b""
    return sign_of(
        client.generic(method, address, body, content_type=kind if body or method == "POST" else "", **headers)
    )


def signs(stage: Stage, method: str, address: str) -> str:
    """One sign for each role."""
    return "".join(asked(stage.clients[role], method, address) for role in ROLES)


def address_of(stage: Stage, name: str, *, kind: str, subject: str = "own") -> str:
    """The address of a route, for the thing of that kind; words stand for what is no thing."""
    if kind == "unknown feed":
        return reverse(name, args=["kd_nobody-has-this", "badge.svg"])
    if kind in WORDS.values():
        return reverse(name, args=[kind])
    return reverse(name, args=[stage.id_of(kind, subject)] if kind else [])
