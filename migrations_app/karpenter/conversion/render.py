"""Results in the form that a Terraform or GitOps repository wants."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from migrations_app.karpenter import yaml_out
from migrations_app.karpenter.conversion.metadata import name_of
from migrations_app.karpenter.yaml_scalars import Plain

Body = Mapping[str, Any]

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_TEMPLATE_MARKS: Final = re.compile(r"[$%]\{")


def terraform(bodies: Iterable[Body]) -> str:
    """One kubectl_manifest resource for each object, in order; names are made unique."""
    taken: set[str] = set()
    return "\n".join(_resource(body, taken) for body in bodies)


def _resource(body: Body, taken: set[str]) -> str:
    name = _terraform_name(body, taken)
    text = _TEMPLATE_MARKS.sub(lambda match: match[0][0] + match[0], yaml_out.text_of(body))
    mark = _free_mark(text)
    return f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<{mark}\n{text}{mark}\n}}\n'


def _terraform_name(body: Body, taken: set[str]) -> str:
    wanted = _NOT_IN_NAMES.sub("_", f"{body['kind']}_{name_of(body)}".lower()).strip("_")
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def _free_mark(text: str) -> str:
    """A heredoc mark that no line of the text is."""
    lines = {line.strip() for line in text.splitlines()}
    mark = "YAML"
    while mark in lines:
        mark += "_"
    return mark


def json_patch(old: Plain, new: Plain, *, path: str = "") -> Iterator[dict[str, Any]]:
    """The JSON-6902 operations that turn old into new; lists are replaced as a whole."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in old:
            if key not in new:
                yield {"op": "remove", "path": f"{path}/{_pointer(key)}"}
        for key, value in new.items():
            at = f"{path}/{_pointer(key)}"
            if key not in old:
                yield {"op": "add", "path": at, "value": value}
            else:
                yield from json_patch(old[key], value, path=at)
    elif old != new:
        yield {"op": "replace", "path": path, "value": new}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def kustomize(pairs: Iterable[tuple[Body, list[dict[str, Any]]]]) -> str:
    """A kustomization with a patch for each object that keeps kind and name, and the new objects as a file beside it.

    Flux takes the same `patches` under spec of its Kustomization, Argo CD under spec.source.kustomize of its
    Application. A patch can make no object, so new ones come as another file, whose content follows in comments."""
    patches: list[dict[str, Any]] = []
    fresh: list[Body] = []
    for source, results in pairs:
        for body in results:
            if (body["kind"], name_of(body)) == (source.get("kind"), name_of(source)):
                patches += _patch(source, body)
            else:
                fresh.append(body)
    whole: dict[str, Any] = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    if fresh:
        whole["resources"] = [NEW_FILE]
    if patches:
        whole["patches"] = patches
    return yaml_out.text_of(whole) + _as_comments(fresh)


NEW_FILE: Final = "karpenter-converted.yaml"


def _patch(source: Body, body: Body) -> list[dict[str, Any]]:
    kept = {key: value for key, value in source.items() if key != "status"}
    operations = list(json_patch(_manifest_part(kept), body))
    if not operations:
        return []
    group, _, version = str(source["apiVersion"]).partition("/")
    target = {"group": group, "version": version, "kind": body["kind"], "name": name_of(body)}
    text = "\n".join(yaml_out.list_text(operations))
    return [{"target": target, "patch": f"{text}\n"}]


def _manifest_part(source: Body) -> dict[str, Any]:
    """What a repository holds of the object: no field that only the server writes."""
    metadata = source.get("metadata") or {}
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
    return {**source, "metadata": kept}


def _as_comments(fresh: list[Body]) -> str:
    if not fresh:
        return ""
    lines = yaml_out.stream(map(yaml_out.text_of, fresh)).splitlines()
    return f"# {NEW_FILE}:\n" + "".join(f"# {line}".rstrip() + "\n" for line in lines)
