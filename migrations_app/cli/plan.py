"""`karpdash plan`: prints the path to a release and the work at each hop as a runbook. Changes nothing."""

import argparse
from typing import TYPE_CHECKING

from migrations_app.cli.sources import add_sources, look
from migrations_app.cli.terminal import Exit, print_note, show

if TYPE_CHECKING:
    from migrations_app.readiness.report import Report
    from migrations_app.readiness.runbook import Runbook


def run(argv: list[str]) -> int:
    """0: printed; 2: wrong usage or unreadable input; 3: could not look, or there is no path."""
    options = _parser().parse_args(argv)
    report = look(options).report
    from migrations_app.readiness.runbook import runbook  # only here: --help needs none of it

    show(_rendered(runbook(report), options.output))
    return _told(report)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="karpdash plan",
        description="Print the path to a release, hop by hop, with what is still to be done at each.",
        epilog="Exit codes: 0 printed; 2 wrong usage or unreadable input; 3 could not look, or no path can be told.",
    )
    add_sources(parser)
    parser.add_argument("--print", action="store_true", help="print it and store nothing, which it does anyway")
    parser.add_argument("-o", "--output", choices=("table", "json", "markdown"), default="table")
    return parser


def _rendered(plan: "Runbook", output: str) -> str:
    from migrations_app.readiness.outputs import json_schema, plan_markdown, plan_table
    from migrations_app.readiness.published import published_plan

    match output:
        case "json":
            return json_schema.written(published_plan(plan))
        case "markdown":
            return plan_markdown.render(plan)
        case _:
            return plan_table.render(plan)


def _told(report: "Report") -> int:
    if report.target.release is not None:
        return Exit.READY
    if report.cluster.stage == "no_karpenter":
        print_note("no Karpenter is installed, so there is no path")
        return Exit.READY
    told = report.target.notes[0] if report.target.notes else "the running release could not be told"
    print_note(f"{told}, so no path can be told either")
    return Exit.COULD_NOT_LOOK
