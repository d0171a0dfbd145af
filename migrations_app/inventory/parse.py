"""Decodes API documents into projections (K12, K18, T07). One invalid object becomes an UnparsableObject; the rest of
its list is kept.

Labels, annotations and taints of ordinary objects are reduced to the keys that an inventory keeps. Of kubectl's
last-applied text only the API version is kept, because the text may contain anything. CRD schemas take 100 kB each,
so only the field paths listed in karpenter/crds.py are kept of them.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec

from migrations_app.inventory.objects.cluster import ClusterRole, ClusterRoleBinding
from migrations_app.inventory.objects.karpenter import CRD, CRDVersion, Metadata, NamedObject, Node, WholeObject
from migrations_app.inventory.parts import NO_NAME, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import has, paths_of

KARPENTER_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
NODE_KEYS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "alpha.eksctl.io/nodegroup-name",
    }
)
BETA_NODE_KEYS = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)
"""Old Kubernetes labels by which pods still select nodes."""
TEMPLATE_KEYS = BETA_NODE_KEYS | {"node.kubernetes.io/unschedulable"}
"""Keys searched for in templates only: the DaemonSet controller makes every pod tolerate a cordon."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_karpenter(key: str) -> bool:
    """Whether the key's domain is one of Karpenter's domains or a subdomain of one."""
    # Called a dozen times for each pod, nearly always with a key of another project.
    if "karpenter." not in key:
        return False
    domain, slash, _ = key.partition("/")
    return bool(slash) and (domain in KARPENTER_DOMAINS or domain.endswith((".karpenter.sh", ".karpenter.k8s.aws")))


def kept_on_node(key: str) -> bool:
    return key in NODE_KEYS or is_karpenter(key) or key.startswith("eks.amazonaws.com/")


_OWN = re.compile(r"karpenter\.(?:sh|k8s\.aws)/v1(?:alpha[0-9]+|beta[0-9]+)?")


class _Applied(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""


def applied_version(text: str) -> str:
    """The Karpenter API version of the last applied manifest; empty for other kinds and if it is not a manifest.

    A text that is only a version is returned unchanged, because bundles store it that way.
    """
    if _OWN.fullmatch(text):
        return text
    try:
        version = msgspec.json.decode(text, type=_Applied).api_version
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return ""
    return version if _OWN.fullmatch(version) else ""


LONGEST_OBJECT = 2 * 1024 * 1024
"""API servers refuse objects above their default request limit of 1.5 MiB, so a longer object is not genuine."""
OWN_KINDS = frozenset(row.kind for row in kinds.KARPENTER_KINDS)
"""Kinds of Karpenter. Their projections have the same names, and an object has to state the kind of its list."""
REFUSED_NAME = "Kubernetes refuses such a name"
OTHER_NAMESPACE = "of another namespace than its list"
_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})")
_SURROGATE_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_REPLACEMENT = rb"\\ufffd"

N = TypeVar("N", bound=NamedObject)


@cache
def decoder(kind: type[N]) -> "msgspec.json.Decoder[N]":
    """The decoder of a projection, created once for each process."""
    return msgspec.json.Decoder(kind)


def read_items(
    raw: Iterable[msgspec.Raw], kind: type[N], *, namespace: str = ""
) -> tuple[list[N], list[UnparsableObject]]:
    """The objects that could be read, and an UnparsableObject with the invalid field for each other one.

    In the list of a namespace, an object of another namespace counts as unparsable.
    """
    good: list[N] = []
    bad: list[UnparsableObject] = []
    take = decoder(kind).decode
    for item in raw:
        item_or_fault = read_one(item, kind, take=take)
        if isinstance(item_or_fault, UnparsableObject):
            bad.append(item_or_fault)
        elif namespace and item_or_fault.namespace != namespace:
            bad.append(_quarantine(bytes(item), kind, problem=f"{OTHER_NAMESPACE} - at `$.metadata.namespace`"))
        else:
            good.append(item_or_fault)
    return good, bad


def read_one(item: msgspec.Raw, kind: type[N], *, take: Callable[[bytes], N]) -> N | UnparsableObject:
    """One object, cleaned; UnparsableObject if it is too long, has wrong types, or has no name."""
    body = bytes(item)
    if len(body) > LONGEST_OBJECT:
        return _quarantine(body, kind, problem=f"$: object of {len(body)} bytes is too large")
    try:
        named_object = take(_storable(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as wrong:
        return _quarantine(body, kind, problem=str(wrong))
    if not named_object.metadata.name:
        return _quarantine(body, kind, problem="missing - at `$.metadata.name`")
    if named_object.kind and kind.__name__ in OWN_KINDS and named_object.kind != kind.__name__:
        return _quarantine(body, kind, problem="of another kind than its list - at `$.kind`")
    if problem := name_problem(named_object):
        return _quarantine(body, kind, problem=problem)
    return _without_last_applied(named_object)


_SUBDOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_EMPTY_LABEL = re.compile(r"\.[.-]|-\.")
_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[^/%\x00-\x1f\x7f-\x9f\u2028\u2029\ufffd]{1,253}")
LOOSELY_NAMED = (ClusterRole, ClusterRoleBinding)
"""Kinds of RBAC, for which Kubernetes accepts every name that can stand in a path."""


def name_problem(named_object: NamedObject) -> str:
    """Why no API server could have stored the object under its name; empty if one could."""
    name, namespace = named_object.metadata.name, named_object.metadata.namespace
    if isinstance(named_object, LOOSELY_NAMED):
        fits = _SEGMENT.fullmatch(name) is not None
    else:
        fits = _SUBDOMAIN.fullmatch(name) is not None and _EMPTY_LABEL.search(name) is None
    if not fits:
        return f"{REFUSED_NAME} - at `$.metadata.name`"
    return f"{REFUSED_NAME} - at `$.metadata.namespace`" if namespace and not _LABEL.fullmatch(namespace) else ""


def _storable(body: bytes) -> bytes:
    """NUL and lone surrogates become U+FFFD: PostgreSQL refuses both in text, and no name may contain them."""
    if b"\\u" not in body or not _UNSTORABLE.search(body):
        return body
    return b"".join(_cleaned(body))


def _cleaned(body: bytes) -> Iterable[bytes]:
    start = 0
    for pair in _SURROGATE_PAIR.finditer(body):
        yield _UNSTORABLE.sub(_REPLACEMENT, body[start : pair.start()])
        yield pair.group()
        start = pair.end()
    yield _UNSTORABLE.sub(_REPLACEMENT, body[start:])


class _Identity(msgspec.Struct):
    metadata: Metadata = Metadata()


def _quarantine(body: bytes, kind: type[NamedObject], *, problem: str) -> UnparsableObject:
    path = problem.rpartition("at `")[2].rstrip("`") if "at `" in problem else "$"
    try:
        metadata = msgspec.json.decode(body, type=_Identity).metadata
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        metadata = Metadata()
    name, namespace = metadata.name[:253], (metadata.namespace or "")[:253]
    return UnparsableObject(kind.__name__, namespace, name or NO_NAME, path[:200], problem.partition(" - at")[0][:200])


def _without_last_applied(named_object: N) -> N:
    """Removes the last-applied text, which is never read, may contain secrets and doubles the size (T23)."""
    metadata = named_object.metadata
    if isinstance(named_object, Node):
        return msgspec.structs.replace(named_object, metadata=_node_metadata(metadata))
    if metadata.annotations and LAST_APPLIED in metadata.annotations:
        rest = {key: value for key, value in metadata.annotations.items() if key != LAST_APPLIED}
        if isinstance(named_object, WholeObject):
            rest[LAST_APPLIED] = applied_version(metadata.annotations[LAST_APPLIED])
        return msgspec.structs.replace(named_object, metadata=msgspec.structs.replace(metadata, annotations=rest))
    return named_object


def _node_metadata(metadata: Metadata) -> Metadata:
    return msgspec.structs.replace(
        metadata,
        labels={k: v for k, v in (metadata.labels or {}).items() if kept_on_node(k)},
        annotations={k: v for k, v in (metadata.annotations or {}).items() if kept_on_node(k)},
        managed_fields=None,
    )


CONVERSION = "f:conversion"


class _CrdVersionFields(msgspec.Struct, frozen=True):
    name: str = ""
    schema: Any = None


class _Spec(msgspec.Struct, frozen=True):
    versions: list[_CrdVersionFields] = []


class _Field(msgspec.Struct, frozen=True, rename="camel"):
    manager: str = ""
    fields_v1: Any = msgspec.field(default=None, name="fieldsV1")


class _CrdMetadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: list[_Field] = []


class _Whole(msgspec.Struct, frozen=True):
    metadata: _CrdMetadata = _CrdMetadata()
    spec: _Spec = _Spec()


def read_crd(item: msgspec.Raw) -> CRD | UnparsableObject:
    """The CRD with the `fields` of its versions and `conversion_owners`; UnparsableObject as in `read_one`."""
    crd = read_one(item, CRD, take=decoder(CRD).decode)
    return crd if isinstance(crd, UnparsableObject) else with_marks(crd, _storable(bytes(item)))


def with_marks(crd: CRD, body: bytes) -> CRD:
    """The CRD with `fields` and `conversion_owners` from its raw text; unchanged if that part of it is malformed."""
    try:
        whole = msgspec.json.decode(body, type=_Whole)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return crd
    schemas = {version.name: version.schema for version in whole.spec.versions}
    versions = [_marked(crd, version, schema=schemas.get(version.name)) for version in crd.spec.versions or ()]
    owners = [field.manager for field in whole.metadata.managed_fields if _owns_conversion(field.fields_v1)]
    spec = msgspec.structs.replace(crd.spec, versions=versions)
    return msgspec.structs.replace(crd, spec=spec, conversion_owners=owners)


def _marked(crd: CRD, version: CRDVersion, *, schema: object) -> CRDVersion:
    root = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    if not isinstance(root, dict) or not root.get("properties"):
        return version
    return msgspec.structs.replace(
        version, fields=[path for path in paths_of(crd.name, version.name) if has(root, path)]
    )


def _inner(node: object, key: str) -> Any:  # noqa: ANN401 - plain JSON
    return node.get(key) if isinstance(node, dict) else None


def _owns_conversion(fields: object) -> bool:
    return any(key == CONVERSION for key in _keys(_inner(fields, "f:spec")))


def _keys(tree: object) -> Iterator[str]:
    yield from tree if isinstance(tree, dict) else ()
