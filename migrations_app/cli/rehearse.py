"""`karpdash rehearse`: rehearses a rollout on a twin of a cluster, on simulated time. Changes nothing."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from migrations_app.cli.sources import reachable, with_hint
from migrations_app.cli.terminal import Exit, Progress, show
from migrations_app.errors import AddressRefused, InvalidInput

if TYPE_CHECKING:
    from migrations_app.actions.plan import RolloutLimits
    from migrations_app.rehearsals.play import Failure
    from migrations_app.rehearsals.rehearse import RehearsalRequest
    from migrations_app.rehearsals.rehearsed_path import RehearsedPath
    from migrations_app.rehearsals.result import RehearsalResult
    from migrations_app.use_cases.rehearsal_runs.sources import Play

T = TypeVar("T")
FULL_ZONE = "full-zone="
FAILURES = ("nodes-never-ready", "webhook-down")


def run(argv: list[str]) -> int:
    """Returns 0: every rollout ends; 1: one stops before its end; 2: wrong usage, or it cannot be planned; 3: could not
    look.
    """
    options = make_parser().parse_args(argv)
    from migrations_app.readiness.outputs.json_schema import written
    from migrations_app.rehearsals.rehearsed_path import render_path
    from migrations_app.rehearsals.text import render

    if options.to is not None:
        path = _rehearsed(options)
        show(written(path) if options.output == "json" else render_path(path))
        return Exit.READY if path.finished else Exit.FINDINGS
    result = _rollout(options)
    show(written(result) if options.output == "json" else render(result))
    return Exit.READY if result.finished else Exit.FINDINGS


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash rehearse",
        description="Read a cluster or a bundle, plan a rollout, and play it on a twin in memory: how long it takes, "
        "which nodes it needs, what holds it up and where it stops. Nothing in the cluster is changed.",
        epilog="Exit codes: 0 every rollout ends; 1 one stops before, or a check that blocks has no answer; "
        "2 wrong usage, or it cannot be planned; 3 could not look.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--bundle", metavar="PATH", type=Path, help="folder, YAML, JSON or .tar.gz of objects")
    source.add_argument("--kubeconfig", metavar="FILE", type=Path, help="a live cluster, which is only read")
    source.add_argument("--cluster", metavar="NAME", help="a registered cluster, read afresh")
    parser.add_argument("--context", metavar="C", default="", help="context of the kubeconfig; else its current one")
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--action", metavar="ID", help="such as roll_nodes or taint_and_drift")
    subject.add_argument(
        "--to", metavar="HOP|RELEASE", help="the rollouts of every hop to there, such as 1.14, one after the other"
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the action, with --to as ACTION.NAME=VALUE; several names are separated by commas; "
        "may be repeated",
    )
    for name, default in (("batch", 1), ("per-hour", 60), ("pool-percent", 10)):
        parser.add_argument(
            f"--{name}", metavar="N", type=int, default=default, help=f"limit of the policy ({default})"
        )
    parser.add_argument(
        "--fail",
        metavar="WHAT",
        default="",
        help=f"what goes wrong: {FULL_ZONE}ZONE, {' or '.join(FAILURES)}",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another one draws other delays of nodes (0)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="a format (text)")
    return parser


def _rollout(options: argparse.Namespace) -> "RehearsalResult":
    from migrations_app.rehearsals.rehearse import rehearse_cluster

    request = _request(options)
    return _read_with(options, lambda api, name, on_part: rehearse_cluster(api, request, cluster=name, on_part=on_part))


def _rehearsed(options: argparse.Namespace) -> "RehearsedPath":
    from migrations_app.rehearsals.path_rehearsal import PathRehearsalRequest, rehearse_path

    if options.fail:
        raise InvalidInput("goes with --action only", where="--fail")
    parameters: dict[str, dict[str, Any]] = {}
    for text in options.set:
        action, dot, assignment = text.partition(".")
        if not dot:
            raise InvalidInput(f"{text[:60]!r} is not ACTION.NAME=VALUE", where="--set")
        name, value = _parameter(assignment, action)
        parameters.setdefault(action, {})[name] = value
    request = PathRehearsalRequest(options.to, _limits(options), options.seed, parameters)
    return _read_with(options, lambda api, name, on_part: rehearse_path(api, request, cluster=name, on_part=on_part))


def _read_with(options: argparse.Namespace, play: "Play[T]") -> T:
    """Reads the cluster that the options name and returns the result of the play on it."""
    from migrations_app.use_cases.rehearsal_runs import sources

    if options.context and not options.kubeconfig:
        raise InvalidInput("goes with --kubeconfig only", where="--context")
    with Progress() as progress:
        if options.cluster:
            return _registered(options.cluster, play, progress=progress)
        if options.bundle:
            return sources.with_bundle(options.bundle, play, on_part=progress.part)
        try:
            return sources.with_kubeconfig(
                options.kubeconfig, play, context=options.context, reachable=reachable(), on_part=progress.part
            )
        except AddressRefused as refused:
            raise with_hint(refused) from None


def _registered(name: str, play: "Play[T]", *, progress: Progress) -> T:
    from migrations_app.cli.django_setup import setup_django

    setup_django()
    from migrations_app.use_cases.rehearsal_runs.registered_cluster import with_registered

    return with_registered(name, play, on_part=progress.part)


def _limits(options: argparse.Namespace) -> "RolloutLimits":
    from migrations_app.actions.plan import RolloutLimits

    for name in ("batch", "per_hour", "pool_percent"):
        if getattr(options, name) < 1:
            raise InvalidInput("a whole number from 1 is wanted", where=f"--{name.replace('_', '-')}")
    return RolloutLimits(batch=options.batch, per_hour=options.per_hour, pool_percent=options.pool_percent)


def _request(options: argparse.Namespace) -> "RehearsalRequest":
    from migrations_app.rehearsals.rehearse import RehearsalRequest

    parameters = dict(_parameter(text, options.action) for text in options.set)
    return RehearsalRequest(options.action, parameters, _limits(options), _failure(options.fail), options.seed)


def _parameter(text: str, action: str) -> tuple[str, Any]:
    """Returns the name and the value, in the type that the action declares."""
    from migrations_app.actions import registry

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"{text[:60]!r} is not NAME=VALUE", where="--set")
    definition = registry.find(action)
    declared = (
        next((parameter for parameter in definition.parameters if parameter.name == name), None) if definition else None
    )
    if definition is not None and declared is None:
        names = ", ".join(parameter.name for parameter in definition.parameters) or "none"
        raise InvalidInput(f"{action} has no parameter {name[:60]!r}; it has {names}", where="--set")
    if declared is not None and declared.many:
        return name, [part for part in value.split(",") if part]
    return name, json.loads(value) if value in ("true", "false") or value.isdecimal() else value


def _failure(text: str) -> "Failure":
    from migrations_app.rehearsals.play import Failure

    match text:
        case "":
            return Failure()
        case "nodes-never-ready":
            return Failure("nodes_never_ready")
        case "webhook-down":
            return Failure("webhook_down")
    if text.startswith(FULL_ZONE) and len(text) > len(FULL_ZONE):
        return Failure("full_zone", text.removeprefix(FULL_ZONE))
    raise InvalidInput(f"{text[:60]!r} is none of {FULL_ZONE}ZONE, {', '.join(FAILURES)}", where="--fail")
