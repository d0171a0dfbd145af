"""Commands for plans and rollouts of a server: draft, ask for approval, start, follow, pause, resume, abort, skip, roll
back.
"""

import argparse
import json
import time
import uuid
from typing import TYPE_CHECKING, Any

from migrations_app.cli.server_client.clusters import Commands, cluster_id
from migrations_app.cli.terminal import Exit, columns, print_note, show, show_rows
from migrations_app.errors import InvalidInput

if TYPE_CHECKING:
    from migrations_app.clients.karpdash_server import KarpdashServer

PAUSE_SECONDS = 1.0
DRAFT_SECONDS = 120.0
HEAD = ("ID", "CLUSTER", "STATE", "RISK", "TITLE")
CHANGES = {
    "pause": "pause it after the request under way",
    "resume": "go on with a paused one",
    "abort": "end it after the request under way",
    "roll_back": "make the plan that undoes it",
}


def add_commands(commands: Commands) -> None:
    """Adds `rollout` and its verbs."""
    parser = commands.add_parser("rollout", help="plan, start, follow and stop rollouts")
    verbs = parser.add_subparsers(required=True, metavar="list|show|plan|ask|start|skip_node|" + "|".join(CHANGES))
    _add_list(verbs.add_parser("list", help="show rollouts, newest first"))
    _add_one(verbs.add_parser("show", help="one rollout with its steps"), _show)
    _add_plan(verbs.add_parser("plan", help="make a plan; nothing is changed in the cluster"))
    ask = verbs.add_parser("ask", help="ask for the approval of a plan")
    ask.add_argument("--typed", metavar="NAME", default="", help="the cluster's name, where the action wants it typed")
    _add_one(ask, _ask)
    start = verbs.add_parser("start", help="start an approved plan")
    start.add_argument("--digest", required=True, help="of the plan that was looked at, as `show` prints it")
    _add_one(start, _start)
    skip = verbs.add_parser("skip_node", help="leave out the node of a step that was not sent yet")
    skip.add_argument("--step", required=True, help="such as s004, as `show -o json` prints it")
    skip.add_argument("--reason", required=True)
    _add_one(skip, _skip_node)
    for verb, about in CHANGES.items():
        _add_one(verbs.add_parser(verb, help=about), _change)
        verbs.choices[verb].set_defaults(verb=verb)


def _add_one(parser: argparse.ArgumentParser, do: Any) -> None:  # noqa: ANN401 - a function of this module
    parser.add_argument("id", type=uuid.UUID, help="as `rollout list` prints it")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(do=do)


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="NAME|ID")
    parser.add_argument("--state", default="", help="a state or a group of states, such as running")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(do=_list)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="NAME|ID", required=True)
    parser.add_argument("--action", required=True, help="such as taint_and_drift")
    parser.add_argument("--parameters", metavar="JSON", type=_mapping, default={}, help="a JSON object")
    parser.add_argument("--ticket", default="")
    parser.add_argument("--note", default="")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(do=_plan)


def _mapping(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is no JSON object")
    return value


def _list(server: "KarpdashServer", options: argparse.Namespace) -> int:
    query = {"state": options.state} if options.state else {}
    if options.cluster:
        query["cluster"] = cluster_id(server, options.cluster)
    rows = list(server.rows("rollouts", query))
    show_rows(rows, output=options.output, head=HEAD, cells=_cells)
    return Exit.READY


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(name) or "") for name in ("id", "cluster_name", "state", "risk", "title"))


def _show(server: "KarpdashServer", options: argparse.Namespace) -> int:
    return _show_rollout(server.one(f"rollouts/{options.id}"), output=options.output)


def _plan(server: "KarpdashServer", options: argparse.Namespace) -> int:
    """Prints the plan that the server's worker made. Raises InvalidInput if it could not be made."""
    body = {
        "cluster": cluster_id(server, options.cluster), "action": options.action, "parameters": options.parameters,
        "ticket": options.ticket, "note": options.note,
    }  # fmt: skip
    plan = server.post("plans", body)
    ends = time.monotonic() + DRAFT_SECONDS
    while plan.get("state") == "draft" and time.monotonic() < ends:
        time.sleep(PAUSE_SECONDS)
        plan = server.one(f"plans/{plan['id']}")
    if plan.get("state") == "draft":
        print_note("the server has not made the plan yet; `rollout show` tells when it has")
    if plan.get("state") == "expired":
        raise InvalidInput(f"not possible: {plan.get('cause') or 'the server tells no reason'}")
    return _show_rollout(server.one(f"rollouts/{plan['id']}"), output=options.output)


def _ask(server: "KarpdashServer", options: argparse.Namespace) -> int:
    path = f"plans/{options.id}"
    server.post(f"{path}/ask", {"typed": options.typed}, tag=server.tag(path))
    return _show(server, options)


def _start(server: "KarpdashServer", options: argparse.Namespace) -> int:
    path = f"rollouts/{options.id}"
    return _show_rollout(
        server.post(f"{path}/start", {"digest": options.digest}, tag=server.tag(path)), output=options.output
    )


def _skip_node(server: "KarpdashServer", options: argparse.Namespace) -> int:
    path, body = f"rollouts/{options.id}", {"step": options.step, "reason": options.reason}
    return _show_rollout(server.post(f"{path}/skip_node", body, tag=server.tag(path)), output=options.output)


def _change(server: "KarpdashServer", options: argparse.Namespace) -> int:
    path = f"rollouts/{options.id}"
    answer = server.post(f"{path}/{options.verb}", {}, tag=server.tag(path))
    rollout = answer if options.verb != "roll_back" else server.one(f"rollouts/{answer['id']}")
    return _show_rollout(rollout, output=options.output)


def _show_rollout(rollout: dict[str, Any], *, output: str) -> int:
    from migrations_app.readiness.outputs import json_schema

    show(json_schema.written(rollout) if output == "json" else _table(rollout))
    return Exit.READY


def _table(rollout: dict[str, Any]) -> str:
    names = ("id", "cluster_name", "title", "state", "cause", "risk", "digest", "approvals", "needed", "ticket")
    facts = columns([(f"{name.replace('_name', '')}:", str(rollout[name])) for name in names if rollout.get(name)])
    steps = columns([(str(step.get("standing")), str(step.get("title"))) for step in rollout.get("steps", ())])
    skipped = columns(
        [
            ("skipped:", str(skipped_node["node"]), str(skipped_node["reason"]))
            for skipped_node in rollout.get("skipped_nodes", ())
        ]
    )
    return facts + (f"\n{steps}" if steps else "") + (f"\n{skipped}" if skipped else "")
