"""Commands for journeys of a server: list, show with steps, pause, resume, abort, and hold Karpenter's own
disruption.

Planning, confirming and approving are done on the page.
"""

import argparse
import uuid
from typing import TYPE_CHECKING, Any

from migrations_app.cli.server_client.clusters import Commands, cluster_id
from migrations_app.cli.terminal import Exit, columns, show, show_rows

if TYPE_CHECKING:
    from migrations_app.clients.karpdash_server import KarpdashServer

HEAD = ("ID", "CLUSTER", "FROM", "TO", "STATE", "DONE", "STEPS", "WAITS FOR")
STEP_HEAD = ("STEP", "KIND", "STATE", "TITLE", "WHY")
CHANGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "resume": ("go on with a paused one; budgets that are held are restored first", "resume", {}),
    "abort": ("end it where it is; what was done stays", "abort", {}),
    "hold": ("hold Karpenter's own disruption while it is paused", "disruption", {"asked_for": "held"}),
    "release": ("restore the budgets that are held", "disruption", {"asked_for": "released"}),
}
"""By verb: its help text, the operation, and the body of the request."""


def add_commands(commands: Commands) -> None:
    """Adds `journey` and its verbs."""
    parser = commands.add_parser("journey", help="upgrades of one cluster step by step")
    verbs = parser.add_subparsers(required=True, metavar="list|show|pause|" + "|".join(CHANGES))
    listing = verbs.add_parser("list", help="show journeys, newest first")
    listing.add_argument("--cluster", metavar="NAME|ID")
    listing.add_argument("--state", default="", help="a state or a group of states, such as under_way")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table")
    listing.set_defaults(do=_list)
    _add_one(verbs.add_parser("show", help="one journey with its steps"), _show)
    pause = verbs.add_parser("pause", help="pause it after the request under way")
    pause.add_argument("--hold-disruption", action="store_true", help="also hold Karpenter's own disruption")
    _add_one(pause, _pause)
    for verb, (about, _, _) in CHANGES.items():
        _add_one(verbs.add_parser(verb, help=about), _change)
        verbs.choices[verb].set_defaults(verb=verb)


def _add_one(parser: argparse.ArgumentParser, do: Any) -> None:  # noqa: ANN401 - a function of this module
    parser.add_argument("id", type=uuid.UUID, help="as `journey list` prints it")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(do=do)


def _list(server: "KarpdashServer", options: argparse.Namespace) -> int:
    query = {"state": options.state} if options.state else {}
    if options.cluster:
        query["cluster"] = cluster_id(server, options.cluster)
    rows = list(server.rows("journeys", query))
    show_rows(rows, output=options.output, head=HEAD, cells=_cells)
    return Exit.READY


def _show(server: "KarpdashServer", options: argparse.Namespace) -> int:
    return _print_journey(server.one(f"journeys/{options.id}"), output=options.output)


def _pause(server: "KarpdashServer", options: argparse.Namespace) -> int:
    body = {"hold_disruption": options.hold_disruption}
    path = f"journeys/{options.id}"
    return _print_journey(server.post(f"{path}/pause", body, tag=server.tag(path)), output=options.output)


def _change(server: "KarpdashServer", options: argparse.Namespace) -> int:
    path, (_, operation, body) = f"journeys/{options.id}", CHANGES[options.verb]
    return _print_journey(server.post(f"{path}/{operation}", body, tag=server.tag(path)), output=options.output)


def _print_journey(journey: dict[str, Any], *, output: str) -> int:
    from migrations_app.readiness.outputs import json_schema

    if output == "json":
        show(json_schema.written(journey))
        return Exit.READY
    show(columns([HEAD, _cells(journey)]))
    show(columns([STEP_HEAD, *map(_step_cells, journey.get("steps", ()))]))
    hold = journey.get("disruption_hold")
    if hold and hold.get("open"):
        words = str(hold.get("wait_code") or "begun next")
        show(columns([("Karpenter's own disruption:", f"asked for: {hold.get('asked_for')}", words)]))
    return Exit.READY


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("id", "cluster_name", "starts", "lands", "state")
    counts = (str(row.get(name) or 0) for name in ("done", "total"))
    return (*(str(row.get(name) or "") for name in names), *counts, _reason(row))


def _step_cells(step: dict[str, Any]) -> tuple[str, ...]:
    return (*(str(step.get(name) or "") for name in ("id", "kind", "state", "title")), _reason(step))


def _reason(row: dict[str, Any]) -> str:
    return str(row.get("cause_code") or row.get("wait_code") or "")
