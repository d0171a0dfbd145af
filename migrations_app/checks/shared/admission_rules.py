"""Which objects of Karpenter a ValidatingAdmissionPolicy or MutatingAdmissionPolicy matches, by its resource rules."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from migrations_app.checks.changes import Observation
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.mentions import mentions
from migrations_app.inventory.objects.cluster import AdmissionPolicy
from migrations_app.karpenter import kinds
from migrations_app.karpenter.releases import version_gone
from migrations_app.karpenter.versions import Release

RULES = "spec.matchConstraints.resourceRules"
GROUPS = frozenset(kind.group for kind in kinds.KARPENTER_KINDS)
_ALPHA = {kind.plural: kinds.successor(kind) for kind in kinds.ALPHA_KINDS}
ANY = "*"
_BINDINGS = "custom-columns=NAME:.metadata.name,POLICY:.spec.policyName,ACTIONS:.spec.validationActions"


class OutdatedRule(NamedTuple):
    """A resource rule that matches no object of the release: field, value, and what the release has instead."""

    path: str
    seen: str
    wanted: str


def karpenter_rules(policy: AdmissionPolicy) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The rules that name a group of Karpenter, or every group where the policy names one elsewhere; each with its
    path."""
    rules = policy.get(RULES, [])
    named = [(f"{RULES}[{place}]", rule) for place, rule in enumerate(rules) if isinstance(rule, dict)]
    return tuple((path, rule) for path, rule in named if set(_texts(rule, "apiGroups")) & {*GROUPS, ANY})


def outdated_rules(policy: AdmissionPolicy, release: Release) -> Iterator[OutdatedRule]:
    """The rules for Karpenter's groups that match no version or no kind that the release serves."""
    for path, rule in karpenter_rules(policy):
        groups = [group for group in _texts(rule, "apiGroups") if group in GROUPS]
        newer = [_newer(groups, version, release=release) for version in _texts(rule, "apiVersions")]
        if newer and all(newer):
            seen = ", ".join(f"{group}/{version}" for group in groups for version in _texts(rule, "apiVersions"))
            yield OutdatedRule(f"{path}.apiVersions", seen, newer[-1])
            continue
        names = list(dict.fromkeys(name.partition("/")[0] for name in _texts(rule, "resources")))
        ended = _newer(groups, "v1alpha5", release=release) or _newer(groups, "v1alpha1", release=release)
        if ended and names and all(name in _ALPHA for name in names):
            successors = dict.fromkeys(kind.plural for name in names if (kind := _ALPHA[name]))
            yield OutdatedRule(f"{path}.resources", ", ".join(names), ", ".join(successors))


def matches_karpenter(policy: AdmissionPolicy) -> bool:
    """Whether a rule matches objects of Karpenter, or its programs name a group of Karpenter."""
    by_group = any(set(_texts(rule, "apiGroups")) & GROUPS for _, rule in karpenter_rules(policy))
    return by_group or (bool(karpenter_rules(policy)) and bool(mentions(policy)))


def show_policy(kind: str, name: str) -> tuple[Observation, Observation]:
    """Commands that show the policy, and what each binding of its kind binds and does: a policy without one is not in
    force, and a binding may only warn."""
    bindings = read_command("kubectl", "get", f"{kind.lower()}bindings", "-o", _BINDINGS)
    return read_command("kubectl", "get", kind.lower(), no_option(name), "-o", "yaml"), bindings


def _newer(groups: list[str], version: str, *, release: Release) -> str:
    """The version that replaced this one in the groups; empty if one of them still serves it."""
    found = [version_gone(f"{group}/{version}", release) for group in groups]
    return found[0] if found and all(found) else ""


def _texts(rule: dict[str, Any], key: str) -> list[str]:
    listed = rule.get(key)
    return [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
