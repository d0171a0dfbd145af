"""One run of helm through a relay: played as dry runs for the preview, or carried out as planned."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from migrations_app.actions.helm.request import HelmRun
from migrations_app.clients.helm.program import (
    HelmEnd,
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
"""How much longer than its hooks a run may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmTool:
    """The program, and how long the hooks of a chart may take, in seconds."""

    program: Path
    version: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmInput:
    """What a run is given: the packed chart and the values; both empty for a rollback."""

    chart: bytes = b""
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGuards:
    """What holds a real run: `permit` raises before a change that may not be sent, `stop` ends the run, `reached` is
    called at named points, and `marks` are the annotations of the record.
    """

    permit: Callable[[], None]
    stop: Callable[[], bool]
    reached: Callable[[str], None]
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRun:
    """How it ended, what was sent, and why the relay refused something; empty if it did not."""

    end: HelmEnd
    sent: tuple[RelayedChange, ...]
    refused: str


def play_dry(tool: HelmTool, asked: HelmRun, *, transport: Transport, given: HelmInput) -> tuple[HelmEnd, DryRules]:
    """Lets helm do all of it while each change is sent as a dry run; hooks are left out, since nothing would run them.

    How it ended, and what was seen: the changes with their answers, and the record of the new revision.
    """
    rules = DryRules()
    end = _run(tool, asked, transport=transport, given=given, rules=rules, purpose="helm dry-run", hooks=False)
    return end, rules


def carry_out(
    tool: HelmTool, asked: HelmRun, *, transport: Transport, given: HelmInput, guards: RunGuards, purpose: str
) -> RealRun:
    """Lets helm do it once; only what the plan names passes."""
    rules = PlannedRules(
        requests=asked.requests,
        record=asked.makes.path,
        former=asked.former.path,
        marks=guards.marks,
        permit=guards.permit,
        reached=guards.reached,
    )
    end = _run(
        tool, asked, transport=transport, given=given, rules=rules, purpose=purpose, hooks=True, stop=guards.stop
    )
    return RealRun(end=end, sent=tuple(rules.sent), refused=rules.refused)


def _run(
    tool: HelmTool,
    asked: HelmRun,
    *,
    transport: Transport,
    given: HelmInput,
    rules: RelayRules,
    purpose: str,
    hooks: bool,
    stop: Callable[[], bool] = lambda: False,
) -> HelmEnd:
    refuse_odd_name(asked.release)
    refuse_odd_name(asked.namespace)
    with private_folder() as folder, ClusterRelay(transport, rules, purpose=purpose).serving() as relay:
        write_kubeconfig(folder, relay.url)
        if given.chart:
            write_private(folder / CHART_FILE, given.chart)
        values = msgspec.json.encode(dict(given.values or {}))
        words = (*words_of(asked), f"--timeout={tool.seconds}s", *(() if hooks else ("--no-hooks",)))
        seconds = tool.seconds + SPARE_SECONDS
        end = run(tool.program, words, folder=folder, stdin=values, seconds=seconds, stop=stop)
        return HelmEnd(end.code, end.words.replace(relay.url, "the cluster"))


def words_of(asked: HelmRun) -> Iterator[str]:
    """The words after `helm`; the values come by standard input."""
    if asked.do == "rollback":
        yield from ("rollback", asked.release, str(asked.to))
    else:
        yield from ("upgrade", asked.release, CHART_FILE, "--reset-values", "--values=-", "--skip-crds")
        yield from ("--disable-openapi-validation",)
    yield from (f"--namespace={asked.namespace}", "--history-max=0")
