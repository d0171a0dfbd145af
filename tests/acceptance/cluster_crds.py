"""The CRDs of each release as a cluster holds them (tests/upstream), and what the API server adds to objects.

For a release whose CRDs are not in tests/upstream, those of the next one are taken without the fields that came later.
"""

import copy
from typing import Any

from migrations_app.karpenter.crds import FIELD_MARKS
from migrations_app.karpenter.versions import Release, minor_order, release, within
from migrations_app.samples.kubernetes_objects import BORN, meta
from tests import upstream
from tests.builders.newest import NEWEST_MINOR

Document = dict[str, Any]

_GROUPS = {"nodepools": "karpenter.sh", "nodeclaims": "karpenter.sh", "ec2nodeclasses": "karpenter.k8s.aws"}
CONVERTED = tuple(f"{group}_{plural}" for plural, group in _GROUPS.items())
_ALPHA = ("karpenter.sh_provisioners", "karpenter.sh_machines", "karpenter.k8s.aws_awsnodetemplates")
_LATER = {"1.7": ("karpenter.sh_nodeoverlays",), "1.14": ("autoscaling.x-k8s.io_capacitybuffers",)}
_TAGS = (
    ("0.30", "v0.30.0"),
    ("0.31", "v0.31.4"),
    ("0.32", "v0.32.10"),
    ("0.37", "v0.37.8"),
    ("1.0", "v1.0.14"),
    ("1.1", "v1.1.9"),
    (NEWEST_MINOR, "v1.14.1"),
)
"""Up to which minor the files of a tag serve."""


def crds(version: str, *, namespace: str, owner: str = "karpenter-crd", stored: tuple[str, ...] = ()) -> list[Document]:
    """The CRDs of that release as a cluster holds them: installed by the chart `owner`, or by nobody where it is "".

    `stored` are the versions that the converted three have ever stored, where those are not the one stored now.
    """
    wanted = _names(minor_order(release(version).minor))
    return [_installed(name, version, namespace=namespace, owner=owner, stored=stored) for name in wanted]


def _names(order: tuple[int, int]) -> tuple[str, ...]:
    alpha = _ALPHA if order <= (0, 32) else ()
    current = CONVERTED if order >= (0, 32) else ()
    later = tuple(name for first, names in _LATER.items() if minor_order(first) <= order for name in names)
    return alpha + current + later


def _tag(order: tuple[int, int]) -> str:
    return next(tag for last, tag in _TAGS if order <= minor_order(last))


def _shipped(name: str, running: Release) -> Document:
    crd = upstream.crd(_tag(minor_order(running.minor)), name)
    for mark in FIELD_MARKS:
        if mark.crd == crd["metadata"]["name"] and not within(running, first=mark.first, last=""):
            for version in crd["spec"]["versions"]:
                if version["name"] == mark.version:
                    _cut(version["schema"]["openAPIV3Schema"], mark.path)
    return crd


def _cut(schema: Document, path: str) -> None:
    """Takes the field, or the value of its enumeration, out of the schema; what is not there stays away."""
    path, _, value = path.partition("=")
    *steps, last = path.split(".")
    here: Any = schema
    for step in steps:
        here = here.get("properties", {}).get(step.removesuffix("[]"), {})
        here = here.get("items", {}) if step.endswith("[]") else here
    if value:
        allowed = here.get("properties", {}).get(last, {})
        allowed["enum"] = [one for one in allowed.get("enum", ()) if one != value]
    else:
        here.get("properties", {}).pop(last, None)


def _installed(name: str, version: str, *, namespace: str, owner: str, stored: tuple[str, ...]) -> Document:
    crd = _shipped(name, release(version))
    written = crd["metadata"]
    marks = {"app.kubernetes.io/managed-by": "Helm"} if owner else {}
    notes = {"meta.helm.sh/release-name": owner, "meta.helm.sh/release-namespace": namespace} if owner else {}
    metadata = meta(
        written["name"], labels=marks, annotations=written.get("annotations", {}) | notes, generation=1 + len(stored)
    )
    metadata["creationTimestamp"] = BORN
    spec = crd["spec"]
    if webhook := spec.get("conversion", {}).get("webhook"):
        # The running controller writes its certificate and the path.
        webhook["clientConfig"]["caBundle"] = "LS0tLS1CRUdJTi0tLS0tCg=="
        service = webhook["clientConfig"]["service"]
        service |= {"path": f"/conversion/{spec['group']}"} | ({"namespace": namespace} if owner else {})
    else:
        spec["conversion"] = {"strategy": "None"}
    storage = [one["name"] for one in spec["versions"] if one["storage"]]
    status = {
        "acceptedNames": spec["names"],
        "conditions": [_condition("NamesAccepted", "NoConflicts"), _condition("Established", "InitialNamesAccepted")],
        "storedVersions": list(stored) if stored and name in CONVERTED else storage,
    }
    return crd | {"metadata": metadata, "status": status}


def _condition(kind: str, reason: str) -> Document:
    return {"lastTransitionTime": BORN, "message": "", "reason": reason, "status": "True", "type": kind}


def with_defaults(document: Document, installed: list[Document]) -> Document:
    """The object as the API server stores it: with the defaults of its CRD."""
    version = document["apiVersion"].partition("/")[2]
    for crd in installed:
        if crd["spec"]["names"]["kind"] == document["kind"]:
            schema = next(one["schema"] for one in crd["spec"]["versions"] if one["name"] == version)
            made = copy.deepcopy(document)
            made["spec"] = _filled(made["spec"], schema["openAPIV3Schema"]["properties"]["spec"])
            return made
    raise LookupError(f"no CRD is installed for {document['kind']}")


def schema_of(document: Document, installed: list[Document]) -> Document:
    """The schema that the object is held to. Raises LookupError where no CRD serves it."""
    version = document["apiVersion"].partition("/")[2]
    for crd in installed:
        if crd["spec"]["names"]["kind"] == document["kind"]:
            for one in crd["spec"]["versions"]:
                if one["name"] == version:
                    found: Document = one["schema"]["openAPIV3Schema"]
                    return found
    raise LookupError(f"{document['apiVersion']} {document['kind']} is not served")


def _filled(value: Any, schema: Document) -> Any:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, inner in known.items():
            if name not in value and "default" in inner:
                value[name] = copy.deepcopy(inner["default"])
        return {name: _filled(one, known[name]) if name in known else one for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, schema.get("items", {})) for one in value]
    return value
