"""Fails if the drift gate is off, or if a Provisioner or Machine has no hash, so that drift replaces no node."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_field, at_variable
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import describe_remedy
from migrations_app.inventory.facts.controller import FEATURE_GATES, given_gates, installation
from migrations_app.inventory.facts.node_claims import without_drift_hash
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import HASHES_ALPHA_ONLY, drift_is_on
from migrations_app.karpenter.hops import ALPHA_LEFT

ROLLS_ON = "0.32"
HASH = f"metadata.annotations[{labels.PROVISIONER_HASH}]"
check = Check(
    __name__,
    title="Drift can replace legacy nodes",
    phase="rollout",
    severity="warning",
    why=(
        'The rollout "taint and drift" replaces no node, without an error, while the gate is off or a Machine has no '
        "hash from before 0.30."
    ),
    how="Reads the drift gate of the running version, and searches each Provisioner and Machine for its hash.",
    reads=("controller", "machines", "provisioners"),
    says=("{count} cause keeps drift from replacing nodes", "{count} causes keep drift from replacing nodes"),
    hops=(ALPHA_LEFT,),
    sources=(
        "aws/karpenter-provider-aws#5363",
        "kubernetes-sigs/karpenter@v0.32.10:pkg/controllers/nodeclaim/disruption/drift.go",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running, controller = case.running.release, installation(case.inventory)
    if not case.inventory.machines.items:
        yield NotApplicable("there is no Machine to replace")
    elif running is None or controller is None:
        yield Unknown(f"which release runs is not known: {case.running.how}")
    elif running.minor != ROLLS_ON:
        # Releases that write hashes add none to an existing Machine, so this is reported before 0.32.
        yield from _unhashed(case.inventory) if running.minor in HASHES_ALPHA_ONLY else ()
        yield NotApplicable(f"nodes are replaced on {ROLLS_ON}, and {running} runs")
    else:
        gate_setting = given_gates(controller)
        gates = gate_setting.text if gate_setting else None
        settings = next((config.data for config in case.inventory.settings.items if config.data), None)
        if gate_setting is not None and not gate_setting.text:
            yield Unknown(f"{gate_setting.path} is empty or taken from an object that is not read")
        elif not drift_is_on(running, feature_gates=gates, global_settings=settings):
            yield at_variable(controller, FEATURE_GATES, seen=gates or "absent", wanted="Drift=true")
        yield from _unhashed(case.inventory)


def _unhashed(inventory: Inventory) -> Iterator[Evidence]:
    for item in without_drift_hash(inventory):
        yield at_field(item, HASH, seen="absent", wanted="a hash")


_CHOICE = "replace Machines one by one, as legacy_machines_gone does; or switch drift on while 0.32 runs"
_WHY = "drift replaces all nodes that a change of their Provisioner reaches; Machines without a hash it never replaces"


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    if any(row.kind == "Deployment" for row in evidence):
        yield in_cluster(PersonTask(what=_CHOICE, why=_WHY, where="settings.featureGates.drift of the chart"))
    if mute := [row for row in evidence if row.kind == "Provisioner"]:
        about = "The controller of 0.30 and later writes the hash: see why it does not reconcile these"
        yield describe_remedy(mute, about)
