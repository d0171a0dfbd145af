"""Discovery as an API server answers it: /version, /api, /apis and the resources of each version."""

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import Answer, no_such_path
from migrations_app.twin.definitions import Definition, Definitions

_VERBS = ["create", "delete", "get", "list", "patch", "update"]
_STATUS_VERBS = ["get", "patch", "update"]
_ON_PODS = (("pods/binding", "Binding"), ("pods/eviction", "Eviction"))


def answer(path: str, definitions: Definitions, *, version: JsonMap) -> Answer:
    """The answer to a path that names no resource. Raises RequestRefused."""
    parts = path.strip("/").split("/")
    if parts == ["version"]:
        return Answer(200, version)
    if parts == ["api"]:
        return Answer(200, {"kind": "APIVersions", "versions": ["v1"]})
    groups = _groups(definitions)
    if parts == ["apis"]:
        group_documents = [_group(name, versions) for name, versions in groups.items() if name]
        return Answer(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": group_documents})
    if len(parts) == 2 and parts[0] == "apis" and parts[1] in groups:
        return Answer(200, {"kind": "APIGroup", "apiVersion": "v1"} | _group(parts[1], groups[parts[1]]))
    group, requested_version = ("", parts[1]) if parts[0] == "api" and len(parts) == 2 else ("", "")
    if parts[0] == "apis" and len(parts) == 3:
        group, requested_version = parts[1], parts[2]
    if requested_version and requested_version in groups.get(group, ()):
        return Answer(200, _resources(definitions, group, version=requested_version))
    raise no_such_path()


def _groups(definitions: Definitions) -> dict[str, list[str]]:
    """The versions of each group, in the order in which they are preferred."""
    versions_by_group: dict[str, list[str]] = {}
    for definition in definitions:
        group_versions = versions_by_group.setdefault(definition.kind.group, [])
        group_versions += [version for version in definition.kind.versions if version not in group_versions]
    return {group: sorted(versions, key=preference) for group, versions in sorted(versions_by_group.items())}


def preference(version: str) -> tuple[int, int, int]:
    """Sorts versions as an API server does: stable ones first, then beta, then alpha, each newest first."""
    digits = "".join(letter if letter.isdigit() else " " for letter in version).split()
    stage = 2 if "alpha" in version else 1 if "beta" in version else 0
    numbers = [-int(digit) for digit in digits[:2]] + [0, 0]
    return stage, numbers[0], numbers[1]


def _group(name: str, versions: list[str]) -> JsonMap:
    version_documents = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": version_documents, "preferredVersion": version_documents[0]}


def _resources(definitions: Definitions, group: str, *, version: str) -> JsonMap:
    group_definitions = [
        definition
        for definition in definitions
        if definition.kind.group == group and version in definition.kind.versions
    ]
    resources = [resource for definition in group_definitions for resource in _resources_of(definition, version)]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def _resources_of(definition: Definition, version: str) -> list[JsonMap]:
    kind = definition.kind
    head = {"singularName": kind.kind.lower(), "namespaced": kind.namespaced, "kind": kind.kind}
    resources = [{"name": kind.plural} | head | {"verbs": _VERBS}]
    if definition.has_status(version):
        resources.append({"name": f"{kind.plural}/status"} | head | {"verbs": _STATUS_VERBS})
    if kind.place == ("", "pods"):
        resources += [
            {"name": name, "namespaced": True, "kind": kind_name, "verbs": ["create"]} for name, kind_name in _ON_PODS
        ]
    return resources
