"""The command that lists the registered clusters of a server."""

import argparse
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from migrations_app.cli.cluster import HEAD, note_hidden_samples, verdict_and_age
from migrations_app.cli.terminal import Exit, show_rows
from migrations_app.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from migrations_app.clients.karpdash_server import KarpdashServer

Commands = Any
"""What `add_subparsers` returns; argparse does not publish its type."""


def add_commands(commands: Commands) -> None:
    """Adds `cluster list`."""
    parser = commands.add_parser("cluster", help="the registered clusters")
    verbs = parser.add_subparsers(required=True, metavar="list")
    listing = verbs.add_parser("list", help="show every cluster that the token may see")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table")
    listing.set_defaults(do=_list)


SAMPLES: Mapping[str, str] = {"environment": "sample"}
"""A filter for sample clusters: beside a real cluster no list has them without it."""


def cluster_id(server: "KarpdashServer", name: str) -> str:
    """Returns the id of the cluster with that name or id. Raises NotFound, and InvalidInput if two have that name."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        ids = _ids_of(server, name) or _ids_of(server, name, narrowed=SAMPLES)
    if not ids:
        raise NotFound(f"no cluster is named {name}, or the token may not see it")
    if len(ids) > 1:
        raise InvalidInput(f"{len(ids)} clusters are named {name}; give one of the ids {', '.join(ids)}")
    return ids[0]


def _ids_of(server: "KarpdashServer", name: str, *, narrowed: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    rows = server.rows("clusters", {**narrowed, "q": name[:200]})
    return [str(row["id"]) for row in rows if row.get("name") == name]


def _list(server: "KarpdashServer", options: argparse.Namespace) -> int:
    rows = sorted(server.rows("clusters"), key=lambda row: str(row.get("name", "")))
    show_rows(rows, output=options.output, head=HEAD, cells=_cells)
    listed = {row["id"] for row in rows}
    note_hidden_samples(sum(row["id"] not in listed for row in server.rows("clusters", SAMPLES)))
    return Exit.READY


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    scanned = str(row.get("scanned_at") or "never")[:16].replace("T", " ")
    texts = [str(row.get(name) or "") for name in ("name", "source", "stage", "karpenter_version", "next_hop")]
    return (*texts, *verdict_and_age(row, scanned))
