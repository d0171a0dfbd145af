"""One request that changes an object: what is sent, to which object, at which path (K13)."""

import re
from typing import Literal

import msgspec

from migrations_app.errors import InvalidInput
from migrations_app.manifests import JsonMap

RequestVerb = Literal["create", "apply", "patch", "delete", "helm"]
Risk = Literal["low", "medium", "high", "destructive"]
RISKS: tuple[Risk, ...] = ("low", "medium", "high", "destructive")

FIELD_MANAGER = "karpdash"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON = "application/json"
MARK_ROLLOUT = "karpdash.io/rollout"
MARK_PLAN = "karpdash.io/plan"
"""Annotations on objects that karpdash creates: an existing object that carries them is its own (A23)."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_GROUP = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?", re.ASCII)
_WORD = re.compile(r"[a-z][a-z0-9]{0,62}", re.ASCII)
_SUBRESOURCES = ("", "status")


class ActionValue(msgspec.Struct, frozen=True, kw_only=True):
    """Base type of action values: frozen, compared by content."""


class ObjectTarget(ActionValue, frozen=True):
    """One object. `uid` is empty if it is yet to be created."""

    group: str
    version: str
    plural: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def display_name(self) -> str:
        """Display name such as `NodePool default` or `Deployment shop/web`."""
        return f"{self.kind} {self.namespace + '/' if self.namespace else ''}{self.name}"

    @property
    def collection(self) -> str:
        """The path of the list. Raises InvalidInput (code `bad_name`) for an invalid Kubernetes name."""
        checked_name(self.name)
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if not _GROUP.fullmatch(self.group) or not _WORD.fullmatch(self.version) or not _WORD.fullmatch(self.plural):
            raise InvalidInput(
                f"{self.api_version} {self.plural} is not a kind of Kubernetes", code="bad_name", where="target"
            )
        middle = f"/namespaces/{checked_name(self.namespace)}" if self.namespace else ""
        return f"{root}{middle}/{self.plural}"

    @property
    def path(self) -> str:
        """The path of the object itself; it always ends in its name."""
        return f"{self.collection}/{self.name}"


def checked_name(name: str) -> str:
    """Returns the name. Raises InvalidInput if it is empty, `.`, `..` or invalid: such a name would change the path."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise InvalidInput(f"{name[:80]!r} is not a name of a Kubernetes object", code="bad_name", where="target")
    return name


class PlannedRequest(ActionValue, frozen=True):
    """One request. `body` is sent as is, plus uid and resourceVersion, which come from the read just before (A18).

    `create` sends a complete object, `apply` a server-side apply without force, `patch` a merge patch, and `delete`
    the options of a deletion. `helm` is a run of helm (`helm.request.HelmRun`): its target is the record that it makes.
    """

    verb: RequestVerb
    target: ObjectTarget
    body: JsonMap = {}
    subresource: str = ""

    def __post_init__(self) -> None:
        if self.subresource not in _SUBRESOURCES:
            raise InvalidInput(f"no request goes to {self.subresource!r}", code="bad_name", where="subresource")

    @property
    def path(self) -> str:
        if self.verb == "create":
            return self.target.collection
        return f"{self.target.path}/{self.subresource}" if self.subresource else self.target.path

    @property
    def method(self) -> str:
        return {"create": "POST", "apply": "PATCH", "patch": "PATCH", "delete": "DELETE", "helm": "POST"}[self.verb]

    @property
    def content_type(self) -> str:
        return {"apply": APPLY_PATCH, "patch": MERGE_PATCH}.get(self.verb, JSON)

    @property
    def need(self) -> "RbacNeed":
        verb = {"apply": "patch", "helm": "create"}.get(self.verb, self.verb)
        return RbacNeed(verb=verb, group=self.target.group, plural=self.target.plural, subresource=self.subresource)


class RbacNeed(ActionValue, frozen=True, order=True):
    """A permission that a request needs, in RBAC terms."""

    verb: str
    group: str
    plural: str
    subresource: str = ""

    @property
    def rule(self) -> str:
        """The RBAC rule as one line of YAML."""
        resource = f"{self.plural}/{self.subresource}" if self.subresource else self.plural
        return f'{{apiGroups: ["{self.group}"], resources: ["{resource}"], verbs: ["{self.verb}"]}}'


def deletion(target: ObjectTarget, *, foreground: bool = False) -> PlannedRequest:
    """Deletes one object and waits for its finalizers; `foreground` deletes its dependents too."""
    policy = "Foreground" if foreground else "Background"
    return PlannedRequest(verb="delete", target=target, body={"propagationPolicy": policy})


def creation(target: ObjectTarget, body: JsonMap) -> PlannedRequest:
    return PlannedRequest(verb="create", target=target, body=body)


def merge(target: ObjectTarget, body: JsonMap, *, subresource: str = "") -> PlannedRequest:
    """A merge patch: maps are merged, lists are replaced, null removes a field."""
    return PlannedRequest(verb="patch", target=target, body=body, subresource=subresource)


def application(target: ObjectTarget, body: JsonMap) -> PlannedRequest:
    """Server-side apply of these fields without force: a field of another manager is a conflict (A34)."""
    return PlannedRequest(verb="apply", target=target, body=body)
