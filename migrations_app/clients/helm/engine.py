"""One run of helm through a relay: as dry runs for the preview, or for real as planned."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from migrations_app.actions.helm.request import HelmRun
from migrations_app.clients.helm.program import (
    HelmExit,
    private_folder,
    refuse_odd_name,
    run,
    write_kubeconfig,
    write_private,
)
from migrations_app.clients.helm.relay import ClusterRelay
from migrations_app.clients.helm.relay_rules import DryRules, PlannedRules, RelayedChange, RelayRules
from migrations_app.clients.kubernetes.transport import Transport

CHART_FILE = "chart.tgz"
SPARE_SECONDS = 60
"""How many seconds longer than its hooks a run may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmTool:
    """The helm program, and how long the hooks of a chart may take, in seconds."""

    program: Path
    version: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmInput:
    """The packed chart and the values of a run; both empty for a rollback."""

    chart: bytes = b""
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGuards:
    """Limits of a real run: `permit` raises before a change that may not be sent, `stop` ends the run, `reached` is
    called at named points, and `marks` are the annotations of the record.
    """

    permit: Callable[[], None]
    stop: Callable[[], bool]
    reached: Callable[[str], None]
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRun:
    """How the run ended, which changes were sent, and why the relay refused a request; empty if it refused none."""

    end: HelmExit
    sent: tuple[RelayedChange, ...]
    refused: str


def dry_run_helm(
    tool: HelmTool, helm_run: HelmRun, *, transport: Transport, given: HelmInput
) -> tuple[HelmExit, DryRules]:
    """Runs helm with each change sent as a dry run; hooks are left out, since nothing would run them.

    Returns how it ended, and the rules with the changes, the answers to them and the record of the new revision.
    """
    rules = DryRules()
    end = _run(tool, helm_run, transport=transport, inputs=given, rules=rules, purpose="helm dry-run", hooks=False)
    return end, rules


def run_helm(
    tool: HelmTool, helm_run: HelmRun, *, transport: Transport, given: HelmInput, guards: RunGuards, purpose: str
) -> AppliedRun:
    """Runs helm once; only requests that the plan names pass."""
    rules = PlannedRules(
        requests=helm_run.requests,
        record=helm_run.makes.path,
        former=helm_run.former.path,
        marks=guards.marks,
        permit=guards.permit,
        reached=guards.reached,
    )
    end = _run(
        tool, helm_run, transport=transport, inputs=given, rules=rules, purpose=purpose, hooks=True, stop=guards.stop
    )
    return AppliedRun(end=end, sent=tuple(rules.sent), refused=rules.refused)


def _run(
    tool: HelmTool,
    helm_run: HelmRun,
    *,
    transport: Transport,
    inputs: HelmInput,
    rules: RelayRules,
    purpose: str,
    hooks: bool,
    stop: Callable[[], bool] = lambda: False,
) -> HelmExit:
    refuse_odd_name(helm_run.release)
    refuse_odd_name(helm_run.namespace)
    with private_folder() as folder, ClusterRelay(transport, rules, purpose=purpose).serving() as relay:
        write_kubeconfig(folder, relay.url)
        if inputs.chart:
            write_private(folder / CHART_FILE, inputs.chart)
        values = msgspec.json.encode(dict(inputs.values or {}))
        words = (*helm_arguments(helm_run), f"--timeout={tool.seconds}s", *(() if hooks else ("--no-hooks",)))
        seconds = tool.seconds + SPARE_SECONDS
        end = run(tool.program, words, folder=folder, stdin=values, seconds=seconds, stop=stop)
        return HelmExit(end.code, end.words.replace(relay.url, "the cluster"))


def helm_arguments(helm_run: HelmRun) -> Iterator[str]:
    """The arguments after `helm`; the values are given by standard input."""
    if helm_run.do == "rollback":
        yield from ("rollback", helm_run.release, str(helm_run.to))
    else:
        yield from ("upgrade", helm_run.release, CHART_FILE, "--reset-values", "--values=-", "--skip-crds")
        yield from ("--disable-openapi-validation",)
    yield from (f"--namespace={helm_run.namespace}", "--history-max=0")
