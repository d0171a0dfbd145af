"""`karpdash scan`: reads a cluster, prints the report, and shows by the exit code whether it is ready."""

import argparse

from migrations_app.cli import version
from migrations_app.cli.sources import add_sources, look
from migrations_app.cli.terminal import colour_wanted, show
from migrations_app.readiness.outputs import json_schema, junit, markdown, sarif, table
from migrations_app.readiness.report import Report
from migrations_app.readiness.verdict import exit_code

OUTPUTS = ("table", "json", "sarif", "junit", "markdown")


def run(argv: list[str]) -> int:
    """0: ready; 1: findings; 2: wrong usage or unreadable input; 3: could not look."""
    options = _parser().parse_args(argv)
    report = look(options).report
    show(_rendered(report, options.output))
    return exit_code(report, fail_on=options.fail_on, strict=options.strict)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="karpdash scan",
        description="Judge whether a cluster is ready for each hop of its Karpenter upgrade.",
        epilog="Exit codes: 0 ready; 1 findings at or above --fail-on; 2 wrong usage or unreadable input; 3 could not "
        "look, or a blocker that is unknown or waits for a person.",
    )
    add_sources(parser)
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table")
    parser.add_argument(
        "--fail-on", choices=("blocker", "warning", "never"), default="blocker", help="what makes the exit code 1"
    )
    parser.add_argument(
        "--strict", action="store_true", help="waived failures fail too, and whatever could not be read gives 3"
    )
    return parser


def _rendered(report: Report, output: str) -> str:
    match output:
        case "json":
            return json_schema.render(report)
        case "sarif":
            return sarif.render(report, version=version())
        case "junit":
            return junit.render(report)
        case "markdown":
            return markdown.render(report)
        case _:
            return table.render(report, colour=colour_wanted())
