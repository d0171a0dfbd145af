"""Commands for scans, findings and plans of a server, with the outputs of `karpdash scan` and `karpdash plan`."""

import argparse
import time
from typing import TYPE_CHECKING, Any

from migrations_app.cli.plan import code_without_path
from migrations_app.cli.scan import OUTPUTS as SCAN_OUTPUTS
from migrations_app.cli.scan import add_judging
from migrations_app.cli.server_client.clusters import Commands, cluster_id
from migrations_app.cli.terminal import Exit, print_note, show, show_rows
from migrations_app.errors import InvalidResponse, NotFound, ServerFailed, TimedOut
from migrations_app.readiness.outputs.preferred_tool import TOOLS

if TYPE_CHECKING:
    from migrations_app.clients.karpdash_server import KarpdashServer
    from migrations_app.readiness.report import Report

PAUSE_SECONDS = 1.0
PLAN_OUTPUTS = ("table", "json", "markdown")
HEAD = ("CLUSTER", "HOP", "CHECK", "STATUS", "SEVERITY", "SUMMARY")


def add_commands(commands: Commands) -> None:
    """Adds `scan`, `findings` and `plan`."""
    scan = commands.add_parser(
        "scan",
        help="let the server scan a cluster, and tell by the exit code",
        epilog="Exit codes: 0 ready; 1 findings at or above --fail-on; 2 wrong usage, or refused by the server; 3 "
        "could not look, or a blocker (with --fail-on warning, a warning too) is unknown or waits for a person.",
    )
    _add_cluster(scan)
    scan.add_argument("--stored", action="store_true", help="judge by the newest snapshot, without a new scan")
    scan.add_argument("--wait", metavar="SECONDS", type=_seconds, default=600.0, help="for the scan (600)")
    scan.add_argument("-o", "--output", choices=SCAN_OUTPUTS, default="table")
    _add_tool(scan)
    add_judging(scan)
    scan.set_defaults(do=_scan)
    findings = commands.add_parser("findings", help="the answers of checks in the newest snapshots")
    findings.add_argument("--cluster", metavar="NAME|ID", help="else of every cluster")
    findings.add_argument("--status", choices=("fail", "unknown", "manual", "waived", "pass", "not_applicable"))
    findings.add_argument("--severity", choices=("blocker", "warning", "info"))
    findings.add_argument("-o", "--output", choices=("table", "json"), default="table")
    findings.set_defaults(do=_findings)
    plan = commands.add_parser("plan", help="the runbook of a cluster's newest snapshot")
    _add_cluster(plan)
    plan.add_argument("-o", "--output", choices=PLAN_OUTPUTS, default="table")
    _add_tool(plan)
    plan.add_argument("--schema", choices=("1", "2"), default="2", help="version of the JSON (2: with typed changes)")
    plan.set_defaults(do=_plan)


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="NAME|ID", required=True)
    parser.add_argument(
        "--kubernetes", metavar="MINOR", default="", help="the Kubernetes that it is to be raised to, such as 1.33"
    )


def _add_tool(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tool", choices=TOOLS, help="its fixes first; else those of the tool that the account prefers at the server"
    )


def _tool(options: argparse.Namespace) -> dict[str, str]:
    return {"tool": options.tool} if options.tool else {}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds up to 86400")
    return seconds


def _scan(server: "KarpdashServer", options: argparse.Namespace) -> int:
    from migrations_app.readiness.outputs.plain import plain_lines
    from migrations_app.readiness.verdict import exit_code

    cluster = cluster_id(server, options.cluster)
    row = server.one(f"clusters/{cluster}") if options.stored else {}
    snapshot = _newest(row) if options.stored else _new_snapshot(server, cluster, seconds=options.wait)
    query = {"kubernetes": options.kubernetes}
    report = _report(server.read(f"snapshots/{snapshot}", query))
    if options.output == "json":
        from migrations_app.readiness.outputs import json_schema

        show(json_schema.render(report))
    else:
        text = server.read(f"snapshots/{snapshot}/export", {"form": options.output, **query, **_tool(options)}).decode()
        show(f"{plain_lines(text)}\n" if options.output == "table" else text)
    code = exit_code(report, fail_on=options.fail_on, strict=options.strict)
    if row.get("stale") or row.get("unreachable"):
        print_note(f"the snapshot is of {report.scanned_at}{_why_old(row)}")
        return Exit.COULD_NOT_LOOK if options.strict and code == Exit.READY else code
    return code


def _why_old(row: dict[str, Any]) -> str:
    """Returns why a stored snapshot may not show the cluster of now, to be read after its time."""
    if row.get("dated_ahead"):
        words = ", which is in the future: the clock of a worker was ahead; leave --stored out to scan again"
        return f"{words}; the last scan failed{_failure(row)}" if row.get("failures") else words
    if row.get("source") != "bundle":
        return f", and no scan has succeeded since{_failure(row)}"
    if row.get("failures"):
        return f", the time of its bundle, and the last scan of the bundle failed{_failure(row)}"
    return ", the time of its bundle, which scans read again: register a newer bundle"


def _failure(row: dict[str, Any]) -> str:
    reason = row.get("last_error_detail") or row.get("last_error_code")
    return f": {reason}" if reason else ""


def _newest(row: dict[str, Any]) -> str:
    snapshot = row.get("snapshot")
    if not snapshot:
        raise NotFound("the cluster was never scanned; leave --stored out")
    return str(snapshot["id"] if isinstance(snapshot, dict) else snapshot)


def _new_snapshot(server: "KarpdashServer", cluster: str, *, seconds: float) -> str:
    """Returns the snapshot of a scan that began after this command. The server answers with the scan that runs already,
    which may have read what was there before a change: its end is waited for, and then another one is requested.

    Raises ServerFailed if the scan failed, TimedOut if it has not ended in time.
    """
    ends = time.monotonic() + seconds
    scan = server.post(f"clusters/{cluster}/scans", {})
    if scan.get("state") == "running":
        print_note("a scan that began earlier is under way; another one follows")
        _ended(server, scan, ends=ends, seconds=seconds)
        scan = server.post(f"clusters/{cluster}/scans", {})
    scan = _ended(server, scan, ends=ends, seconds=seconds)
    if scan["state"] == "failed" or not scan.get("snapshot"):
        reason = scan.get("error_detail") or scan.get("error_code") or "no snapshot"
        raise ServerFailed(f"the scan of the server failed: {reason}")
    return str(scan["snapshot"])


def _ended(server: "KarpdashServer", scan: dict[str, Any], *, ends: float, seconds: float) -> dict[str, Any]:
    while scan.get("state") not in ("done", "failed"):
        if time.monotonic() > ends:
            raise TimedOut(f"the scan has not ended after {seconds:g} seconds; it goes on at the server")
        time.sleep(PAUSE_SECONDS)
        scan = server.one(f"scans/{scan['id']}")
    return scan


def _report(body: bytes) -> "Report":
    import msgspec

    from migrations_app.readiness.report import Report

    try:
        return msgspec.json.decode(body, type=Report)
    except msgspec.MsgspecError:
        raise InvalidResponse("the report is not as this release reads it; use the release of the server") from None


def _findings(server: "KarpdashServer", options: argparse.Namespace) -> int:
    filters = {"status": options.status or "", "severity": options.severity or ""}
    if options.cluster:
        filters["cluster"] = cluster_id(server, options.cluster)
    rows = list(server.rows("findings", {name: value for name, value in filters.items() if value}))
    show_rows(rows, output=options.output, head=HEAD, cells=_cells)
    return Exit.READY


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(name, "")) for name in ("cluster_name", "hop", "check", "status", "severity", "summary"))


def _plan(server: "KarpdashServer", options: argparse.Namespace) -> int:
    from migrations_app.readiness.outputs import json_schema

    address = f"clusters/{cluster_id(server, options.cluster)}/plan"
    query = {"kubernetes": options.kubernetes, "schema": options.schema} | _tool(options)
    plan = server.one(address, query | {"format": "json"})
    if options.output == "json":
        show(json_schema.written(plan))
    else:
        show(server.read(address, query | {"format": options.output}).decode())
    reason = "the running release could not be told"
    return code_without_path(plan.get("target"), stage=plan.get("cluster", {}).get("stage", ""), reason=reason)
