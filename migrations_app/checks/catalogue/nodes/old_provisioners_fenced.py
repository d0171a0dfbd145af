"""Fails for each Provisioner that can still launch nodes while NodePools exist."""

from collections.abc import Iterator
from typing import Any

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.shared.replaced_nodes import taint_remedies
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import Provisioner, WholeObject
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="No Provisioner launches new nodes",
    phase="rollout",
    severity="warning",
    why="As long as pods can use the old Provisioner, it launches the replacement nodes again, as Machines.",
    reads=("provisioners", "nodepools"),
    says=("{count} Provisioner can still launch nodes", "{count} Provisioners can still launch nodes"),
    how=(
        "Where NodePools exist, finds Provisioners without a taint that keeps new pods off and that no NodePool has, "
        "and with limits above what they use; their weight is shown, too."
    ),
    hops=(ALPHA_LEFT,),
    resolved_by=("taint_and_drift",),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
    remedy_tools=OBJECT_TOOLS,
)
KEEPS_OFF = ("NoSchedule", "NoExecute")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools or not case.inventory.provisioners.items:
        yield NotApplicable("there is no NodePool yet" if not pools else "no Provisioner is left")
        return
    shared = {taint for pool in pools for taint in _taints(pool, "spec.template.spec.taints")}
    heaviest = max(_weight(pool) for pool in pools)
    for provisioner in case.inventory.provisioners.items:
        fences = _taints(provisioner, "spec.taints") - shared
        if not fences and not provisioner.metadata.deleting and not _has_zero_limit(provisioner):
            seen = f"no fence, weight {_weight(provisioner)} beside {heaviest} of the NodePools"
            wanted = f"{labels.LEGACY_TAINT}=true:NoSchedule"
            yield Evidence(kind="Provisioner", name=provisioner.name, path="spec.taints", seen=seen, wanted=wanted)


def _taints(whole_object: WholeObject, path: str) -> set[tuple[str, str]]:
    taints = whole_object.get(path, [])
    rows = [row for row in taints if isinstance(row, dict)] if isinstance(taints, list) else []
    return {(str(row.get("key")), str(row.get("value", ""))) for row in rows if row.get("effect") in KEEPS_OFF}


def _weight(whole_object: WholeObject) -> int:
    weight: Any = whole_object.get("spec.weight", 0)
    return weight if isinstance(weight, int) else 0


def _has_zero_limit(provisioner: Provisioner) -> bool:
    """Whether a limit of 0 keeps the Provisioner from launching nodes."""
    limits = provisioner.get("spec.limits.resources", {})
    return isinstance(limits, dict) and any(str(value) == "0" for value in limits.values())


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    named = {row.name for row in evidence}
    yield from taint_remedies(
        [provisioner for provisioner in case.inventory.provisioners.items if provisioner.name in named]
    )
