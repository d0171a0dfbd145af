"""Decides what an agent sends to its API server: the reads of a scan and, with the acting role, changes of actions.

The rules are those of the published ClusterRoles. The server's RBAC applies as well. The check here comes first, so
that a compromised karpdash server can send nothing through an agent that no scan or action would send.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from migrations_app.clients.agents.protocol import MAX_REQUEST, AgentCall
from migrations_app.clients.kubernetes.api import check_path
from migrations_app.errors import InvalidResponse
from migrations_app.readiness.rbac import controller_roles
from migrations_app.readiness.rbac.roles import RbacRule, act_rules, release_rules, scan_rules

_VERBS: Final[Mapping[str, str]] = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_READ_PARAMETERS: Final = {"limit", "continue", "labelSelector", "fieldSelector"}
"""Parameters of a read. Watches are not allowed, nor answers of a version that is not the newest (K10)."""
_CHANGE_PARAMETERS: Final = {"fieldManager", "force", "dryRun"}
_CONTENT_TYPES: Final = {
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
}
_HELM_RECORDS_ONLY: Final = ("labelSelector", "owner=helm")
"""Of Secrets only Helm's release records are read, and only in a named namespace."""
_HELM_READ_PARAMETERS: Final = {"timeout", "timeoutSeconds", "watch", "resourceVersion", "allowWatchBookmarks"}
"""Parameters of reads by a real helm, which discovers what is served and watches the Jobs of hooks."""
_SCHEMAS: Final = "openapi/v2"
_WATCH_SECONDS: Final = frozenset(str(seconds) for seconds in range(1, 11))
_SELECTED: Final = re.compile(r"(?:owner=helm|name=[a-z0-9.-]{1,53})(?:,(?:owner=helm|name=[a-z0-9.-]{1,53}))*")
CARRIED: Final = "karpenter"
"""The names of releases whose runs of helm an agent carries contain this text. With another name, the chart's
cluster-wide objects would have names that the agent's roles do not grant.
"""
_OF_KARPENTER: Final = rf"[a-z0-9.-]{{0,60}}{CARRIED}[a-z0-9.-]{{0,60}}"
_SECRET_TYPES: Final[Mapping[str, re.Pattern[str]]] = {
    "helm.sh/release.v1": re.compile(rf"sh\.helm\.release\.v1\.{_OF_KARPENTER}"),
    "Opaque": re.compile(rf"{_OF_KARPENTER}-cert"),
}
"""Secrets that a run of helm reads and writes, by type: the records of Karpenter's releases, and the empty Secret for
certificates of old charts. No other type is written: the server fills a Secret of a service account with its token.
"""


@dataclass(frozen=True, slots=True)
class _Target:
    """A path of the API server in RBAC terms; `plural` is empty for discovery and /version."""

    group: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    deeper: bool = False

    @property
    def resource(self) -> str:
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


class AllowedCalls:
    """The calls that an agent sends to its API server; all others are refused."""

    def __init__(self, *, acts: bool, helm_in: str = "") -> None:
        self.acts = acts
        self.helm_in = helm_in if acts else ""
        self._rules: tuple[RbacRule, ...] = (*scan_rules(), *release_rules())
        if acts:
            from migrations_app.actions.registry import all_actions

            self._rules += act_rules(all_actions())
        if self.helm_in:
            self._rules += controller_roles.cluster_rules()

    def refusal(self, call: AgentCall) -> str:
        """Why the call is not sent, as text; empty if it is sent."""
        try:
            target = _target(check_path(call.path))
        except InvalidResponse as error:
            return error.message
        by_helm = bool(self.helm_in) and (target.plural in ("", _SCHEMAS) or target.namespace == self.helm_in)
        if why := _malformed(call, by_helm=by_helm):
            return why
        if not target.plural or (by_helm and target.plural == _SCHEMAS):
            plain = {name for name, _ in call.query} <= {"timeout"}
            return "" if call.method == "GET" and plain else "only discovery and /version are read there"
        verb = _verb(call, target)
        if by_helm and not target.deeper and _is_granted(controller_roles.release_rules(), verb, target=target):
            return _helm_refusal(call, target)
        if target.deeper or verb == "watch" or not _is_granted(self._rules, verb, target=target):
            reading = "" if self.acts or verb in ("get", "list") else "this agent was installed to read only: "
            return f"{reading}it does not {verb or call.method} {target.resource}"
        if target.plural == "secrets" and (_HELM_RECORDS_ONLY not in call.query or not target.namespace):
            return "of Secrets only Helm's release records are read, namespace by namespace"
        return ""


def _helm_refusal(call: AgentCall, target: _Target) -> str:
    """Why a call of a run of helm in the release's namespace is not sent; empty if it is."""
    if "watch" in dict(call.query):
        seconds = dict(call.query).get("timeoutSeconds", "")
        return "" if seconds in _WATCH_SECONDS else "a watch has to end within seconds"
    if target.plural != "secrets":
        return ""
    if call.method == "GET" and not target.name:
        selector = dict(call.query).get("labelSelector", "")
        chosen = "owner=helm" in selector.split(",") and _SELECTED.fullmatch(selector)
        return "" if chosen else "of Secrets only Helm's release records are listed"
    return (
        "" if _is_secret_of_helm(call, target) else "of Secrets only those of Karpenter's releases are read and written"
    )


def _is_secret_of_helm(call: AgentCall, target: _Target) -> bool:
    """Checks the Secret's name and, if the whole Secret is written, its type. A patch never changes the type."""
    if call.method not in ("POST", "PUT"):
        return any(names.fullmatch(target.name) for names in _SECRET_TYPES.values())
    try:
        written = msgspec.json.decode(call.body or b"", type=_Written)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    names = _SECRET_TYPES.get(written.type or "Opaque")
    return names is not None and names.fullmatch(target.name or written.metadata.name) is not None


class _WrittenMetadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Written(msgspec.Struct, frozen=True):
    """The fields of a created or replaced Secret that are checked."""

    metadata: _WrittenMetadata = _WrittenMetadata()
    type: str = ""


def _malformed(call: AgentCall, *, by_helm: bool) -> str:
    names = {name for name, _ in call.query}
    if len(names) < len(call.query):
        return "a parameter is given twice"
    allowed_query = _READ_PARAMETERS | _HELM_READ_PARAMETERS if by_helm else _READ_PARAMETERS
    if beyond := sorted(names - (allowed_query if call.method == "GET" else _CHANGE_PARAMETERS)):
        return f"the parameter {beyond[0][:40]} is not passed on"
    if dict(call.query).get("force", "false") != "false":
        return "fields of others are never taken by force"
    if call.content_type not in (_CONTENT_TYPES if call.method != "GET" else _CONTENT_TYPES | {""}):
        return "the body is of no kind that is sent"
    if call.method != "GET" and call.body is None:
        return "the body is of no kind that is sent"
    if call.body is not None and (call.method == "GET" or len(call.body) > MAX_REQUEST):
        return "the body is not passed on"
    texts = (call.accept, call.user_agent, call.encoding)
    return "" if all(0 < len(text) < 1000 and text.isascii() and text.isprintable() for text in texts) else "bad header"


def _target(parts: list[str]) -> _Target:
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    elif parts == ["version"] or parts[0] in ("api", "apis"):
        return _Target()
    else:
        return _Target(plural="/".join(parts), deeper=True)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    name, subresource = [*rest[1:], "", ""][:2]
    return _Target(group, rest[0], namespace, name, subresource, deeper=len(rest) > 3)


def _verb(call: AgentCall, target: _Target) -> str:
    """The RBAC verb; empty if the method does not fit the path."""
    if call.method == "GET":
        return "watch" if "watch" in dict(call.query) else "get" if target.name else "list"
    verb = _VERBS.get(call.method, "")
    return verb if bool(target.name) == (verb != "create") else ""


def _is_granted(rules: Iterable[RbacRule], verb: str, *, target: _Target) -> bool:
    return any(
        verb in rule.verbs
        and rule.group == target.group
        and (target.resource in rule.resources or ("*" in rule.resources and not target.subresource))
        and (not rule.names or target.name in rule.names)
        for rule in rules
    )
