"""Commands that read campaigns of a server: the list, and one with its waves and clusters. Changes are made on the page
or over REST.
"""

import argparse
import uuid
from typing import TYPE_CHECKING, Any

from migrations_app.cli.server_client.clusters import Commands
from migrations_app.cli.terminal import Exit, columns, show, show_rows

if TYPE_CHECKING:
    from migrations_app.clients.karpdash_server import KarpdashServer

HEAD = ("ID", "CAMPAIGN", "STATE", "DONE", "CLUSTERS", "WAITS FOR")
MEMBER_HEAD = ("WAVE", "CLUSTER", "STATE", "FROM", "TO", "STEPS", "WHY")


def add_commands(commands: Commands) -> None:
    """Adds `campaign list` and `campaign show`."""
    parser = commands.add_parser("campaign", help="upgrades of many clusters in waves")
    verbs = parser.add_subparsers(required=True, metavar="list|show")
    listing = verbs.add_parser("list", help="show campaigns, newest first")
    listing.add_argument("--state", default="", help="a state or a group of states, such as under_way")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table")
    listing.set_defaults(do=_list)
    show_parser = verbs.add_parser("show", help="one campaign with its clusters")
    show_parser.add_argument("id", type=uuid.UUID, help="as `campaign list` prints it")
    show_parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    show_parser.set_defaults(do=_show)


def _list(server: "KarpdashServer", options: argparse.Namespace) -> int:
    rows = list(server.rows("campaigns", {"state": options.state} if options.state else {}))
    show_rows(rows, output=options.output, head=HEAD, cells=_cells)
    return Exit.READY


def _show(server: "KarpdashServer", options: argparse.Namespace) -> int:
    from migrations_app.readiness.outputs import json_schema

    campaign = server.one(f"campaigns/{options.id}")
    members = list(server.rows(f"campaigns/{options.id}/clusters"))
    if options.output == "json":
        show(json_schema.written(campaign | {"clusters": members}))
        return Exit.READY
    show(columns([HEAD, _cells(campaign)]))
    show(columns([MEMBER_HEAD, *map(_member_cells, members)]))
    return Exit.READY


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    reason = str(row.get("cause_code") or row.get("wait_code") or "")
    return (*(str(row.get(name) or "0") for name in ("id", "name", "state", "done", "total")), reason)


def _member_cells(row: dict[str, Any]) -> tuple[str, ...]:
    steps = f"{row.get('steps_done')}/{row.get('steps')}" if row.get("steps") else ""
    reason = str(row.get("cause_code") or row.get("wait_code") or "")
    names = ("wave", "name", "state", "release", "lands")
    return (*(str(row.get(name) or "") for name in names), steps, reason)
