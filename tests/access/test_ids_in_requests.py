"""T11: an id in a query or a body that names what is hidden is answered as one that names nothing."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.cache import cache as counts
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from migrations_app.models.cluster import Cluster, ClusterGroup
from tests.access.gate import address_of
from tests.access.pages import PAGES
from tests.access.routes import ROUTES
from tests.access.stage import Stage, set_up

pytestmark = pytest.mark.django_db
DOCUMENT = Path(__file__).parents[2] / "docs/schema/openapi-v1.yaml"
PARTIAL = ("nobody", "viewer", "operator", "approver", "admin")
"""Roles that do not see the foreign cluster."""
OF_CHIEFS = frozenset({
    "channels", "channels/{id}", "clusters/batch-removal", "clusters/joining", "grants", "groups/{id}/clusters",
    "service-accounts", "service-accounts/{id}",
})  # fmt: skip
"""Only who may do everything on all clusters passes these: tests/access/routes.py."""
ENDS = (timezone.now() + timedelta(days=9)).isoformat()
BODIES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("campaigns", "cluster"): {"name": "x", "selection": {"clusters": ["ID"]}},
    ("campaigns", "group"): {"name": "x", "selection": {"groups": ["ID"]}},
    ("clusters/batch-labels", "cluster"): {"clusters": ["ID"], "labels": {"a": "b"}},
    ("journeys", "cluster"): {"cluster": "ID"},
    ("plans", "cluster"): {"cluster": "ID", "action": "upgrade_crds"},
    ("waivers", "cluster"): {"cluster": "ID", "check": "crds_served", "reason": "x", "owner": "x", "ends_at": ENDS},
    ("waivers", "group"): {"group": "ID", "check": "crds_served", "reason": "x", "owner": "x", "ends_at": ENDS},
}
HIDDEN = "zz-hidden"
OF_ALL = frozenset({"clusters/{id}/pull-requests"})
"""The id in the body is that of a repository for every cluster: docs/pull-requests.md."""


@cache
def operations() -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    document = yaml.load(DOCUMENT.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    schemas = document["components"]["schemas"]

    def without_references(tree: Any, depth: int = 0) -> Any:
        if isinstance(tree, list):
            return [without_references(part, depth) for part in tree]
        if not isinstance(tree, dict):
            return tree
        if "/schemas/" in tree.get("$ref", "") and depth < 4:
            return without_references(schemas[tree["$ref"].rpartition("/")[2]], depth + 1)
        return {name: without_references(part, depth) for name, part in tree.items()}

    return tuple(
        (path.removeprefix("/api/v1/"), method, without_references(operation))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in ("get", "post", "put", "patch", "delete")
    )


def queries() -> Iterator[tuple[str, str]]:
    """The path and the name of each parameter of a query that is an id of a cluster or a group."""
    for path, _, operation in operations():
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "query" and parameter["schema"].get("format") == "uuid":
                yield path, parameter["name"]


def test_bodies_with_ids_are_all_here() -> None:
    with_ids = {path for path, _, operation in operations() if "'uuid'" in str(operation.get("requestBody", ""))}
    assert with_ids == {path for path, _ in BODIES} | OF_CHIEFS | OF_ALL


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """Made once for the module: whatever is tried here is refused or read."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = set_up()
        Cluster.objects.filter(name="foreign").update(name=HIDDEN)
        ClusterGroup.objects.filter(name="foreign").update(name=HIDDEN)
        yield made
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _uncounted() -> None:
    counts.clear()


def both(stage: Stage, role: str, path: str, *, kind: str, query: str = "", body: str = "") -> list[tuple[int, str]]:
    """The answer for what is hidden, and for what does not exist."""
    hidden = uuid.UUID(str(stage.things[kind, "foreign"].pk))
    return [asked(stage, role, path, given=key, query=query, body=body) for key in (hidden, uuid.uuid4())]


def asked(stage: Stage, role: str, path: str, *, given: uuid.UUID, query: str = "", body: str = "") -> tuple[int, str]:
    """The status and the text of the answer, with a word in place of the id."""
    if body:
        headers = {"HTTP_IDEMPOTENCY_KEY": uuid.uuid4().hex}
        text = body.replace("ID", str(given))
        answer = stage.clients[role].post(f"/api/v1/{path}", text, content_type="application/json", **headers)
    else:
        answer = stage.clients[role].get(f"/api/v1/{path}", {query: str(given)} if query else {})
    told = re.sub(r'"(instance|request_id|generated_at|as_of|cursor)": ?"[^"]*"', "", answer.content.decode())
    return answer.status_code, told.replace(str(given), "ID")


@pytest.mark.parametrize(("path", "name"), sorted(queries()))
def test_queries(path: str, name: str, stage: Stage) -> None:
    for role in PARTIAL:
        hidden, absent = both(stage, role, path, kind="group" if name == "group" else "cluster", query=name)
        assert (role, hidden) == (role, absent)


@pytest.mark.parametrize(("path", "kind"), sorted(BODIES))
def test_bodies(path: str, kind: str, stage: Stage) -> None:
    for role in PARTIAL:
        hidden, absent = both(stage, role, path, kind=kind, body=json.dumps(BODIES[path, kind]))
        assert (role, hidden) == (role, absent)
        assert hidden[0] >= 400


def test_who_sees_the_cluster_is_answered_otherwise(stage: Stage) -> None:
    """Else the answers above would be alike whatever they tell."""
    for path in ("rollouts", "snapshots", "waivers", "journeys"):
        hidden, absent = both(stage, "chief", path, kind="cluster", query="cluster")
        assert (path, hidden == absent) == (path, False)
    hidden, absent = both(stage, "chief", "journeys", kind="cluster", body=json.dumps(BODIES["journeys", "cluster"]))
    assert hidden != absent
    assert HIDDEN in stage.clients["chief"].get("/").content.decode()


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_no_page_and_no_route_names_what_is_hidden(role: str, stage: Stage) -> None:
    marks = (HIDDEN, *(str(stage.things[kind, subject].pk) for kind, subject in stage.things if subject == "foreign"))
    for (name, method), row in {**PAGES, **ROUTES}.items():
        if method == "GET":
            answer = stage.clients[role].get(address_of(stage, name, kind=row.kind))
            text = (answer.getvalue() if answer.streaming else answer.content).decode(errors="replace")
            answer.close()
            assert (name, [mark for mark in marks if mark in text]) == (name, [])
