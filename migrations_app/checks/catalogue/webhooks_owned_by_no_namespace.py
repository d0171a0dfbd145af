"""No admission webhook of Karpenter's is owned by a Namespace."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import NAMES_SHOWN, kubectl
from migrations_app.checks.values import Evidence, NotApplicable, Remedy, Word

check = Check(
    __name__,
    title="No admission webhook is owned by a Namespace",
    phase="cleanup",
    severity="info",
    why="Argo CD follows the owner to every object of that Namespace, and its memory and load grow until it is cut.",
    how="The owner references of Karpenter's admission webhooks are searched for a Namespace.",
    reads=("webhooks",),
    says=("{count} admission webhook is owned by a Namespace", "{count} admission webhooks are owned by a Namespace"),
    sources=("aws/karpenter-provider-aws#7080",),
)
FIXED = "no owner; 0.33.10, 0.34.11, 0.35.10, 0.36.7, 0.37.5 and later take it away"


@check.judge
def judge(case: Case) -> Iterator[Word]:
    if not case.inventory.webhooks.items:
        yield NotApplicable("there is no admission webhook of Karpenter's")
    for one in case.inventory.webhooks.items:
        for place, owner in enumerate(one.metadata.owner_references or ()):
            if owner.kind == "Namespace":
                path = f"metadata.ownerReferences[{place}]"
                yield Evidence(kind=one.kind, name=one.name, path=path, seen=f"Namespace {owner.name}", wanted=FIXED)


@check.advise
def advise(_case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield kubectl("# takes the owner away; nothing else changes", *map(_line, evidence[:NAMES_SHOWN]))


def _line(row: Evidence) -> str:
    where = "/" + row.path.replace("[", "/").replace("]", "").replace(".", "/")
    patch = f'[{{"op":"remove","path":"{where}"}}]'
    return f"kubectl patch {row.kind.lower()} {row.name} --type=json -p '{patch}'"
