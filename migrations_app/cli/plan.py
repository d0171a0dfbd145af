"""`karpdash plan`: prints the path to a release and the work of each hop as a runbook. Changes nothing."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli.sources import add_sources, scan_source
from migrations_app.cli.terminal import Exit, print_note, show, writing

if TYPE_CHECKING:
    from migrations_app.readiness.report import Report
    from migrations_app.readiness.runbook.runbook import Runbook

OUTPUTS = ("table", "json", "markdown")


def run(argv: list[str]) -> int:
    """Returns 0: printed; 2: wrong usage or unreadable input; 3: could not look, or there is no path."""
    options = make_parser().parse_args(argv)
    report = scan_source(options).report
    from migrations_app.readiness.runbook.runbook import runbook  # only here: --help needs none of it

    plan = runbook(report)
    if options.output in OUTPUTS:
        show(_rendered(plan, options.output, version=options.schema))
    else:
        _write(plan, Path(options.output))
    return _print_no_path(report)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash plan",
        description="Print the path to a release, hop by hop, with what is still to be done at each.",
        epilog="Exit codes: 0 printed; 2 wrong usage or unreadable input; 3 could not look, or no path can be told.",
    )
    add_sources(parser)
    parser.add_argument("--print", action="store_true", help="print it and store nothing, which it does anyway")
    parser.add_argument(
        "-o",
        "--output",
        metavar="{table,json,markdown}|DIR/",
        type=_output,
        default="table",
        help="a format (table); or a new folder, named with a slash, for plan.md and the long commands as files",
    )
    parser.add_argument(
        "--schema", type=int, choices=(1, 2), default=2, help="version of the JSON (2: with typed changes)"
    )
    return parser


def _output(text: str) -> str:
    if text not in OUTPUTS and "/" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(OUTPUTS)}, and no folder such as {text}/")
    return text


def _write(plan: "Runbook", folder: Path) -> None:
    """Writes the files of the plan into a new folder. Raises InvalidInput if the folder exists or cannot be made."""
    from migrations_app.readiness.outputs.runbook_markdown import render_files

    files = render_files(plan)
    with writing(folder):
        folder.mkdir(parents=True)
        for file in files:
            (folder / file.name).write_text(file.text if file.text.endswith("\n") else f"{file.text}\n")
    print_note(f"wrote {len(files)} files to {folder}; begin with plan.md")


def _rendered(plan: "Runbook", output: str, *, version: int) -> str:
    from migrations_app.readiness.outputs import json_schema, runbook_markdown, runbook_table
    from migrations_app.readiness.published_fields import published_plan, typed_plan

    match output:
        case "json":
            return json_schema.written(published_plan(plan) if version == 1 else typed_plan(plan))
        case "markdown":
            return runbook_markdown.render(plan)
        case _:
            return runbook_table.render(plan)


def _print_no_path(report: "Report") -> int:
    from migrations_app.readiness.verdict import PATH, unanswered_lines  # only here, as above

    reasons = [line.reasons[0] for line in unanswered_lines(report) if line.hop == PATH]
    return code_without_path(report.target.release, stage=report.cluster.stage, reason="".join(reasons))


def code_without_path(target: str | None, *, stage: str, reason: str) -> int:
    """Returns READY, or COULD_NOT_LOOK where no path can be told for that reason; prints a note if there is no path."""
    if target is not None:
        return Exit.READY
    if stage == "no_karpenter":
        print_note("no Karpenter is installed, so there is no path")
        return Exit.READY
    print_note(f"{reason}, so no path can be told either")
    return Exit.COULD_NOT_LOOK
