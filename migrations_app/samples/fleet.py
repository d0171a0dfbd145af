"""The sample fleet: finds the stories and writes each as a bundle, in the format of `kubectl get -o json`."""

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import KINDS
from migrations_app.manifests import JsonMap
from migrations_app.samples import stories as package
from migrations_app.samples.aws_account import SampleAws
from migrations_app.samples.kubernetes_objects import namespaces_of, uid_of
from migrations_app.samples.story import Story

MADE_AT = "2026-10-01T06:00:00Z"
"""When every story was dumped: two weeks after its objects were created."""


@cache
def stories() -> tuple[Story, ...]:
    """Every story, by name. Raises TypeError for a module of `stories/` without one."""
    return tuple(_load(module.name) for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name))


def find(name: str) -> Story | None:
    return next((story for story in stories() if story.name == name), None)


def _load(name: str) -> Story:
    story = getattr(importlib.import_module(f"{package.__name__}.{name}"), "story", None)
    if not isinstance(story, Story):
        raise TypeError(f"stories/{name}.py offers no story")
    return dataclasses.replace(story, docs=tuple(_with_own_uids(story.name, story.docs)))


def _with_own_uids(cluster: str, docs: Iterable[JsonMap]) -> Iterator[JsonMap]:
    """The objects with uids made of cluster, kind, namespace and name; owner references follow.

    The builders make uids of names alone: a budget has that of its workload, and every cluster the same kube-system.
    """
    objects = tuple(docs)
    keys = {(doc["kind"], doc["metadata"].get("namespace", ""), doc["metadata"]["name"]) for doc in objects}
    for doc in objects:
        metadata = doc["metadata"]
        namespace = metadata.get("namespace", "")
        own: JsonMap = {"uid": uid_of(cluster, doc["kind"], namespace, metadata["name"])}
        if references := metadata.get("ownerReferences"):
            own["ownerReferences"] = [
                _reference(cluster, reference, namespace=namespace, keys=keys) for reference in references
            ]
        yield doc | {"metadata": metadata | own}


def _reference(cluster: str, reference: JsonMap, *, namespace: str, keys: set[tuple[str, str, str]]) -> JsonMap:
    """The reference with the uid of that owner: an object without a namespace, or one in that of the dependent."""
    kind, name = reference["kind"], reference["name"]
    return reference | {"uid": uid_of(cluster, kind, "" if (kind, "", name) in keys else namespace, name)}


def files(story: Story) -> Mapping[str, bytes]:
    """The files of a story's bundle, by name, without the objects of refused lists."""
    objects = (*map(with_managed_fields, story.docs), *_with_own_uids(story.name, namespaces_of(story.docs)))
    readable = [doc for doc in objects if _plural(doc) not in story.refused]
    account = aws(story)
    return (account.documents() if account else {}) | {
        "manifest.json": _json(_manifest(story)),
        "version.json": _json(story.version),
        "objects.json": _json({"apiVersion": "v1", "kind": "List", "items": readable}),
    }


def with_managed_fields(doc: JsonMap) -> JsonMap:
    """The object with an entry of the controller, if it is one of Karpenter's: an API server shows managed fields."""
    metadata, kind = doc["metadata"], kinds.find(doc["kind"], group=doc["apiVersion"].rpartition("/")[0])
    if kind not in kinds.KARPENTER_KINDS or "managedFields" in metadata:
        return doc
    entry = {"manager": "karpenter", "operation": "Update", "apiVersion": doc["apiVersion"], "time": MADE_AT}
    return doc | {"metadata": metadata | {"managedFields": [entry]}}


def aws(story: Story) -> SampleAws | None:
    """The AWS account of the story; None if access to AWS is not configured."""
    return SampleAws(story.aws) if story.aws else None


def _manifest(story: Story) -> JsonMap:
    """The manifest of a dump of the whole cluster, with the refused lists."""
    return {
        "schema": "karpdash/bundle/v1",
        "made_at": MADE_AT,
        "made_by": "the sample fleet",
        "whole": True,
        "asked": [_refused(plural, reason=reason, detail=detail) for plural, (reason, detail) in story.refused.items()],
    }


def _refused(plural: str, *, reason: str, detail: str) -> JsonMap:
    kind = next(kind for kind in KINDS if kind.plural == plural)
    return {"group": kind.group, "plural": plural, "seen": False, "why": reason, "detail": detail}


def write(story: Story, folder: Path) -> None:
    """Writes the bundle of a story into a folder, which is created if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in files(story).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(body)


def _plural(doc: JsonMap) -> str:
    kind = kinds.find(doc["kind"], group=doc["apiVersion"].rpartition("/")[0])
    return kind.plural if kind else ""


def _json(body: JsonMap) -> bytes:
    return json.dumps(body, indent=1, sort_keys=True).encode()
