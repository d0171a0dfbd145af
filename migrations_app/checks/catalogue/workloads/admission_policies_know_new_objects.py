"""Asks about each admission policy of Kubernetes that matches Karpenter's objects, and fails for those that match only
old ones."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, Remedy
from migrations_app.checks.changes import ChangeTarget, Observation, PersonTask, group
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.shared.admission_rules import matches_karpenter, outdated_rules, show_policy
from migrations_app.inventory.facts.mentions import mentions
from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, CONVERTED
from migrations_app.karpenter.labels import replacement, retired
from migrations_app.karpenter.releases import version_gone

check = Check(
    __name__,
    title="Admission policies know the new objects",
    phase="workloads",
    severity="warning",
    why=(
        "A policy that matches only old versions or kinds no longer guards anything; one that matches the new ones may "
        "refuse what Karpenter or a conversion writes: no node is launched then."
    ),
    how=(
        "Reads ValidatingAdmissionPolicies and MutatingAdmissionPolicies that name Karpenter: their resource rules, "
        "and keys and API versions in their programs. What a program accepts is a question to a person, and so is "
        "whether a binding, which is not read, puts the policy in force."
    ),
    reads=("admission_policies",),
    says=("{count} outdated rule in an admission policy", "{count} outdated rules in admission policies"),
    hops=("0.32", ALPHA_LEFT, CONVERTED, BETA_LEFT),
    sources=(
        "Kubernetes documentation, Validating Admission Policy",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
    remedy_tools=("kubectl",),
)
GONE = "nothing: no release reads it any more"
WRITTEN = {"0.32": "v1beta1", ALPHA_LEFT: "v1beta1"}
"""The version that the hop's objects are written in; v1 from 1.0 on."""
IN_FORCE = {"ValidatingAdmissionPolicy": "where a binding puts it in force with the action Deny"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    release, written = case.hop.release, WRITTEN.get(case.hop.name, "v1")
    for policy in case.inventory.admission_policies.items:
        for rule in outdated_rules(policy, release):
            yield at_object(policy, rule.path, seen=rule.seen, wanted=rule.wanted)
        for path, key in mentions(policy):
            newer = version_gone(key, release)
            if newer or retired(key, release):
                yield at_object(policy, path, seen=key, wanted=newer or replacement(key) or GONE)
        if matches_karpenter(policy):
            where = IN_FORCE.get(policy.kind, "where a binding puts it in force")
            asks = f"{policy.kind} {policy.name} matches objects of Karpenter: {where}, see that it accepts {written}"
            yield ManualCheck(asks, (in_cluster(group(*show_policy(policy.kind, policy.name))),))


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    places = dict.fromkeys((row.kind, row.name) for row in evidence[:NAMES_SHOWN])
    yield in_cluster(group(*(step for place in places for step in _steps(place, evidence))))


def _steps(place: tuple[str, str], evidence: tuple[Evidence, ...]) -> Iterator[Observation | PersonTask]:
    rows = [row for row in evidence if (row.kind, row.name) == place]
    target = ChangeTarget(*place, resource=place[0].lower())
    yield from show_policy(*place)
    changes = "; ".join(f"{row.path}: {row.seen}, now {row.wanted}" for row in rows)[:1000]
    yield PersonTask(target=target, what=changes, why="whether the old rule stays beside the new one is a choice")
