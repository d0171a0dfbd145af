"""`karpdash scan`: reads a cluster and prints the report; the exit code says whether the cluster is ready."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli import version
from migrations_app.cli.sources import add_sources, scan_source
from migrations_app.cli.terminal import colour_wanted, output_file, show, writing
from migrations_app.clients.local_files import is_stdin

if TYPE_CHECKING:
    from migrations_app.readiness.report import Report

OUTPUTS = ("table", "json", "sarif", "junit", "markdown")


def run(argv: list[str]) -> int:
    """Returns 0: ready; 1: findings; 2: wrong usage or unreadable input; 3: could not look."""
    options = make_parser().parse_args(argv)
    report = scan_source(options).report
    from migrations_app.readiness.verdict import exit_code  # only here: --help needs none of it

    for form, path in options.also:
        _store(path, _form(report, form, bundle=options.bundle))
    show(_form(report, options.output, bundle=options.bundle, colour=colour_wanted()))
    return exit_code(report, fail_on=options.fail_on, strict=options.strict)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash scan",
        description="Judge whether a cluster is ready for each hop of its Karpenter upgrade.",
        epilog="Exit codes: 0 ready; 1 findings at or above --fail-on; 2 wrong usage or unreadable input; 3 could not "
        "look, or a blocker (with --fail-on warning, a warning too) is unknown or waits for a person; 74 or 141 the "
        "result could not be written.",
    )
    add_sources(parser)
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table")
    parser.add_argument(
        "--also",
        metavar="FORM=FILE",
        type=_also,
        action="append",
        default=[],
        help="write another form of the same look into a file, such as sarif=karpdash.sarif; may be repeated",
    )
    add_judging(parser)
    return parser


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Adds the options that decide the exit code."""
    parser.add_argument(
        "--fail-on", choices=("blocker", "warning", "never"), default="blocker", help="what makes the exit code 1"
    )
    parser.add_argument(
        "--strict", action="store_true", help="waived failures fail too, and whatever could not be read gives 3"
    )


def _also(text: str) -> tuple[str, Path]:
    form, _, name = text.partition("=")
    if form not in OUTPUTS or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not FORM=FILE, where FORM is one of {', '.join(OUTPUTS)}")
    return form, output_file(name)


def _store(path: Path, text: str) -> None:
    with writing(path):
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _form(report: "Report", form: str, *, bundle: Path | None, colour: bool = False) -> str:
    return _as_sarif(report, bundle) if form == "sarif" else _rendered(report, form, colour=colour)


def _as_sarif(report: "Report", bundle: Path | None) -> str:
    from migrations_app.readiness.outputs import sarif

    if bundle is None or is_stdin(bundle):
        return sarif.render(report, version=version())
    from migrations_app.use_cases.scans.source_places import bundle_places

    rows = [row for finding in report.checks if finding.status in sarif.FAILED for row in finding.evidence]
    return sarif.render(report, version=version(), places=bundle_places(bundle, rows))


def _rendered(report: "Report", output: str, *, colour: bool) -> str:
    from migrations_app.readiness.outputs import json_schema, junit, markdown, table

    match output:
        case "json":
            return json_schema.render(report)
        case "junit":
            return junit.render(report)
        case "markdown":
            return markdown.render(report)
        case _:
            return table.render(report, colour=colour)
