"""`karpdash rehearse`: plays a rollout on a twin of a cluster, on simulated time. Changes nothing."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrations_app.cli.sources import reachable, with_hint
from migrations_app.cli.terminal import Exit, Progress, show
from migrations_app.errors import AddressRefused, InvalidInput

if TYPE_CHECKING:
    from migrations_app.use_cases.rehearsals.play import Failure
    from migrations_app.use_cases.rehearsals.rehearse import RehearsalRequest
    from migrations_app.use_cases.rehearsals.result import RehearsalResult

FULL_ZONE = "full-zone="
FAILURES = ("nodes-never-ready", "webhook-down")


def run(argv: list[str]) -> int:
    """0: the rollout ends; 1: it stops before; 2: wrong usage, or it cannot be planned; 3: could not look."""
    options = make_parser().parse_args(argv)
    from migrations_app.readiness.outputs.json_schema import written
    from migrations_app.use_cases.rehearsals.text import render

    result = _rehearsed(options)
    show(written(result) if options.output == "json" else render(result))
    return Exit.READY if result.finished else Exit.FINDINGS


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash rehearse",
        description="Read a cluster or a bundle, plan a rollout, and play it on a twin in memory: how long it takes, "
        "which nodes it needs, what holds it up and where it stops. Nothing in the cluster is changed.",
        epilog="Exit codes: 0 the rollout ends; 1 it stops before; 2 wrong usage, or it cannot be planned; "
        "3 could not look.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--bundle", metavar="PATH", type=Path, help="folder, YAML, JSON or .tar.gz of objects")
    source.add_argument("--kubeconfig", metavar="FILE", type=Path, help="a live cluster, which is only read")
    source.add_argument("--cluster", metavar="NAME", help="a registered cluster, read afresh")
    parser.add_argument("--context", metavar="C", default="", help="context of the kubeconfig; else its current one")
    parser.add_argument("--action", metavar="ID", required=True, help="such as roll_nodes or taint_and_drift")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the action; several names are separated by commas; may be repeated",
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


def _rehearsed(options: argparse.Namespace) -> "RehearsalResult":
    from migrations_app.use_cases.rehearsals import rehearse

    request = _request(options)
    if options.context and not options.kubeconfig:
        raise InvalidInput("goes with --kubeconfig only", where="--context")
    with Progress() as progress:
        if options.cluster:
            return _registered(options.cluster, request, progress=progress)
        if options.bundle:
            return rehearse.rehearse_bundle(options.bundle, request, on_part=progress.part)
        try:
            return rehearse.rehearse_kubeconfig(
                options.kubeconfig,
                request,
                context=options.context,
                reachable=reachable(),
                on_part=progress.part,
            )
        except AddressRefused as refused:
            raise with_hint(refused) from None


def _registered(name: str, request: "RehearsalRequest", *, progress: Progress) -> "RehearsalResult":
    from migrations_app.cli.django_setup import setup_django

    setup_django()
    from migrations_app.use_cases.rehearsals.registered import rehearse_registered

    return rehearse_registered(name, request, on_part=progress.part)


def _request(options: argparse.Namespace) -> "RehearsalRequest":
    from migrations_app.actions.plan import RolloutLimits
    from migrations_app.use_cases.rehearsals.rehearse import RehearsalRequest

    for name in ("batch", "per_hour", "pool_percent"):
        if getattr(options, name) < 1:
            raise InvalidInput("a whole number from 1 is wanted", where=f"--{name.replace('_', '-')}")
    limits = RolloutLimits(batch=options.batch, per_hour=options.per_hour, pool_percent=options.pool_percent)
    parameters = dict(_parameter(text, options.action) for text in options.set)
    return RehearsalRequest(options.action, parameters, limits, _failure(options.fail), options.seed)


def _parameter(text: str, action: str) -> tuple[str, Any]:
    """The name and the value, in the form that the action declares."""
    from migrations_app.actions import registry

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"{text[:60]!r} is not NAME=VALUE", where="--set")
    found = registry.find(action)
    known = next((one for one in found.parameters if one.name == name), None) if found else None
    if found is not None and known is None:
        names = ", ".join(one.name for one in found.parameters) or "none"
        raise InvalidInput(f"{action} has no parameter {name[:60]!r}; it has {names}", where="--set")
    if known is not None and known.many:
        return name, [part for part in value.split(",") if part]
    return name, json.loads(value) if value in ("true", "false") or value.isdecimal() else value


def _failure(text: str) -> "Failure":
    from migrations_app.use_cases.rehearsals.play import Failure

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
