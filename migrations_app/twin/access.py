"""Checks the RBAC rules of each user for every request, and answers the reviews of permissions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import Answer, RequestRefused, bad_request, details_of
from migrations_app.twin.calls import APPLY, Call

ADMIN = "admin"
REVIEWS = "authorization.k8s.io"
_EVERYTHING: JsonMap = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_EVERY_PATH: JsonMap = {"nonResourceURLs": ["*"], "verbs": ["*"]}
_ATTRIBUTES = ("resourceAttributes", "nonResourceAttributes")
REVIEW_KINDS = {
    "selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "selfsubjectrulesreviews": "SelfSubjectRulesReview",
}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(slots=True)
class Access:
    """The rules of each user, in the form of a ClusterRole's; the admin may do everything."""

    rules: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    def grant(self, user: str, rules: Iterable[Mapping[str, Any]]) -> None:
        self.rules.setdefault(user, []).extend(rules)

    def of(self, user: str) -> list[Mapping[str, Any]]:
        return [_EVERYTHING, _EVERY_PATH] if user == ADMIN else self.rules.get(user, [])

    def allows(self, user: str, attributes: Mapping[str, Any]) -> bool:
        """Whether a rule covers these resourceAttributes."""
        if user == ADMIN:
            return True
        plural, sub = str(attributes.get("resource", "")), str(attributes.get("subresource", ""))
        resource = f"{plural}/{sub}" if sub else plural
        return any(
            _lists(rule.get("verbs"), str(attributes.get("verb", "")))
            and _lists(rule.get("apiGroups"), str(attributes.get("group", "")))
            and (_lists(rule.get("resources"), resource) or (sub and f"*/{sub}" in (rule.get("resources") or ())))
            and (not rule.get("resourceNames") or attributes.get("name") in rule["resourceNames"])
            for rule in self.of(user)
        )

    def check(self, call: Call) -> None:
        """Raises RequestRefused if the user of the call lacks the permission."""
        self._check(call, _VERBS.get(call.method) or ("get" if call.name else "list"))

    def check_creation(self, call: Call) -> None:
        """The same for an object that server-side apply is to create."""
        if call.content_type == APPLY:
            self._check(call, "create")

    def _check(self, call: Call, verb: str) -> None:
        attributes = {
            "verb": verb,
            "group": call.kind.group,
            "resource": call.kind.plural,
            "subresource": call.subresource,
            "name": call.name,
        }
        if self.allows(call.user, attributes):
            return
        plural = f"{call.kind.plural}/{call.subresource}" if call.subresource else call.kind.plural
        place = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
        target = f' "{call.name}"' if call.name else ""
        message = (
            f'{call.kind.resource}{target} is forbidden: User "{call.user}" cannot {verb} resource "{plural}" '
            f'in API group "{call.kind.group}" {place}'
        )
        raise RequestRefused(403, "Forbidden", message=message, details=details_of(call.kind, call.name))

    def review(self, plural: str, body: Any, *, user: str) -> Answer:  # noqa: ANN401 - whatever was sent
        """POST of a SelfSubjectAccessReview or a SelfSubjectRulesReview. Raises RequestRefused."""
        spec = body.get("spec") if isinstance(body, Mapping) else None
        if not isinstance(spec, Mapping) or not all(isinstance(spec.get(key) or {}, Mapping) for key in _ATTRIBUTES):
            raise bad_request("a review has a spec with attributes")
        kind = {
            "selfsubjectaccessreviews": "SelfSubjectAccessReview",
            "selfsubjectrulesreviews": "SelfSubjectRulesReview",
        }
        head: JsonMap = {"kind": kind[plural], "apiVersion": f"{REVIEWS}/v1", "metadata": {}, "spec": dict(spec)}
        if plural == "selfsubjectaccessreviews":
            return Answer(201, head | {"status": {"allowed": self._allowed(spec, user)}})
        rules = [dict(rule) for rule in self.of(user)]
        paths = [rule for rule in rules if "nonResourceURLs" in rule]
        resources = [rule for rule in rules if "nonResourceURLs" not in rule]
        status = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
        return Answer(201, head | {"status": status})

    def _allowed(self, spec: Mapping[str, Any], user: str) -> bool:
        if "resourceAttributes" in spec:
            return self.allows(user, spec["resourceAttributes"] or {})
        attributes = spec.get("nonResourceAttributes") or {}
        return any(
            _lists(rule.get("verbs"), str(attributes.get("verb", "")))
            and _lists(rule.get("nonResourceURLs"), str(attributes.get("path", "")))
            for rule in self.of(user)
        )


def _lists(texts: Any, text: str) -> bool:  # noqa: ANN401 - a list of texts, or absent
    return "*" in (texts or ()) or text in (texts or ())
