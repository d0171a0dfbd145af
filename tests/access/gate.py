"""Sends one request as each role and reduces the answer to one character: `L` redirect to the sign-in page, `1` not
signed in (401), `3` forbidden (403), `4` not found (404), `+` allowed, whatever the result.
"""

from typing import Any

from django.test import Client
from django.urls import reverse

from tests.access.stage import ROLES, Stage

WORDS = {"slug:id": "crds_served", "slug:code": "not_found", "path:rest": "x"}
CODES = {401: "1", 403: "3", 404: "4"}


def answer_code(answer: Any) -> str:
    """Returns the character of the answer; fails the test for 5xx."""
    assert answer.status_code < 500, (answer.request["PATH_INFO"], answer.status_code)
    if answer.status_code == 302 and answer.url.startswith("/login?next="):
        return "L"
    return CODES.get(answer.status_code, "+")


def request_code(client: Client, method: str, address: str, **headers: str) -> str:
    """Sends one request with an empty body and returns the character of the answer."""
    kind = "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
    body = b"{}" if kind == "application/json" and method in ("POST", "PUT", "PATCH") else b""
    return answer_code(
        client.generic(method, address, body, content_type=kind if body or method == "POST" else "", **headers)
    )


def codes_by_role(stage: Stage, method: str, address: str) -> str:
    """Returns one character for each role, in the order of ROLES."""
    return "".join(request_code(stage.clients[role], method, address) for role in ROLES)


def address_of(stage: Stage, name: str, *, kind: str, subject: str = "own") -> str:
    """Returns the URL of a route for the object of that kind; some kinds are fixed words such as a check id."""
    if kind == "unknown feed":
        return reverse(name, args=["kd_nobody-has-this", "badge.svg"])
    if kind in WORDS.values():
        return reverse(name, args=[kind])
    return reverse(name, args=[stage.id_of(kind, subject)] if kind else [])
