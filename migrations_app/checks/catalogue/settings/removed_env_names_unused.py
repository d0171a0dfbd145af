"""Fails for each environment variable or feature gate of the controller that the target version does not read."""

import json
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.remedies.commands import helm_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.inventory.facts.controller import FEATURE_GATES, VARIABLES, Installation, installation
from migrations_app.inventory.facts.controller import variables_without as without
from migrations_app.karpenter.controller_settings import CHART_SWITCHES, unread_env_names, unread_gates

check = Check(
    __name__,
    title="The target version reads every variable and feature gate",
    phase="controller",
    severity="warning",
    why=(
        "The controller ignores variables and feature gates that it does not know, so their settings are lost "
        "without an error."
    ),
    how="Compares the controller's variables and feature gates with those that the target version reads.",
    reads=("controller",),
    says=(
        "{count} variable or feature gate is no longer read",
        "{count} variables or feature gates are no longer read",
    ),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    controller = installation(case.inventory)
    if controller is None:
        yield NotApplicable("there is no Karpenter Deployment")
        return
    for unread in unread_env_names(controller.env, case.hop.release):
        if unread.key not in CHART_SWITCHES:
            yield _evidence(controller, name=unread.key, seen=unread.fate, wanted=unread.replacement or "absent")
    if controller.env_elsewhere:
        yield Unknown("more variables are taken from an object that is not read (envFrom)")
    for gate in _unknown_gates(case, controller.env.get(FEATURE_GATES, "")):
        row = _evidence(controller, name=FEATURE_GATES, seen=f"{gate}: no such gate", wanted=f"without {gate}")
        yield row.with_data(gate=gate)


def _unknown_gates(case: CheckContext, gates: str) -> list[str]:
    """The gates that neither the running nor the target version knows. The chart wrote the gates that the running
    version knows, and removes them itself."""
    running = case.running.release
    strange_gates = unread_gates(gates, running) if running else []
    return [gate for gate in unread_gates(gates, case.hop.release) if gate in strange_gates]


def _evidence(controller: Installation, *, name: str, seen: str, wanted: str) -> Evidence:
    return Evidence(
        kind="Deployment",
        namespace=controller.namespace,
        name=controller.name,
        path=f"spec.template.spec.containers[].env[{name}]",
        seen=seen,
        wanted=wanted,
    )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    names = dict.fromkeys(row.path.partition("env[")[2].rstrip("]") for row in evidence if not row.data)
    variables = without(case.inventory, frozenset(names))
    if variables is not None:
        reason = f"without {', '.join(names)}, which {case.hop.release} does not read"
        yield from helm_remedies(case, (HelmValue(VARIABLES, json.dumps(variables), reason),))
    gates = [f"without {row.value('gate')}" for row in evidence if row.data]
    if gates or variables is None:
        tasks = [f"take {', '.join(names)} out of {VARIABLES}"] if names and variables is None else []
        tasks += [f"{FEATURE_GATES} {', '.join(gates)}"] if gates else []
        yield from helm_remedies(case, (), about="; ".join(tasks), when="person")
