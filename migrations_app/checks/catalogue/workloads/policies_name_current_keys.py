"""Fails for each policy or volume with a label, annotation, API version or kind that the target version lacks."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import NAMES_SHOWN, kubectl
from migrations_app.checks.shell import note, word
from migrations_app.inventory.facts.mentions import mentions, outdated_kinds
from migrations_app.karpenter.labels import replacement, retired
from migrations_app.karpenter.releases import version_gone

check = Check(
    __name__,
    title="Policies and volumes use current keys and versions",
    phase="workloads",
    severity="warning",
    why=(
        "A policy with an outdated key writes or matches something that no release reads; a volume that requires a "
        "removed label cannot be attached to a new node."
    ),
    how=(
        "Searches policies of Kyverno, mutations and constraints of Gatekeeper, and the node affinity of "
        "PersistentVolumes for keys, API versions and kinds of Karpenter that the target version does not have."
    ),
    reads=("policies", "volumes"),
    says=(
        "{count} outdated key or version in a policy or volume",
        "{count} outdated keys or versions in policies and volumes",
    ),
    formerly=("unread_kinds_current",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kyverno/kyverno@main:api/kyverno/v1",
        "open-policy-agent/gatekeeper@master:website/docs/mutation.md",
        "open-policy-agent/gatekeeper@master:pkg/mutation/match",
    ),
    remedy_tools=("kubectl",),
)
GONE = "nothing: no release reads it any more"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    release = case.hop.release
    for policy in case.inventory.policies.items:
        for path, key in mentions(policy):
            newer = version_gone(key, release)
            if newer or retired(key, release):
                row = at_object(policy, path, seen=key, wanted=newer or replacement(key) or GONE)
                yield row.with_data(key=key)
        for kind in outdated_kinds(policy, release):
            yield at_object(policy, kind.path, seen=kind.seen, wanted=kind.wanted).with_data(key=kind.key)
    for volume in case.inventory.volumes.items:
        for expression in volume.expressions:
            if retired(expression.key, release):
                path = "spec.nodeAffinity.required.nodeSelectorTerms"
                row = at_object(volume, path, seen=expression.key, wanted=replacement(expression.key) or GONE)
                yield row.with_data(key=expression.key)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    edits = dict.fromkeys(f"{row.kind} {row.namespace}/{row.name}: {row.seen}, now {row.wanted}" for row in evidence)
    yield kubectl(*(note(edit) for edit in list(edits)[:NAMES_SHOWN]), *map(_search, evidence[:NAMES_SHOWN]))


def _search(row: Evidence) -> str:
    home = f"-n {word(row.namespace)} " if row.namespace else ""
    return f"kubectl {home}get {word(row.kind.lower())} {word(row.name)} -o yaml | grep -nF {word(row.value('key'))}"
