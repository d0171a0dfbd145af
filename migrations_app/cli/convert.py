"""`karpdash convert`: converts Karpenter manifests to their next generation. Objects on stdout, findings on
stderr.

Loads neither Django nor a client, so that it starts as fast as a tool that only reads YAML.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.objects import Options
from migrations_app.conversion.reports.report import ConversionReport, LocatedFinding, convert_texts
from migrations_app.manifests.reader import MAX_BYTES

_SUFFIXES = (".yaml", ".yml", ".json")
GENERATIONS = ("v1beta1", "v1")
_STDIN = "-"
_USAGE_ERROR = 2


def _role_name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("a role name is wanted")
    return text.strip()


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash convert",
        description="Convert Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass to their next generation, keeping "
        "their behaviour. Objects go to stdout, findings to stderr.",
        epilog="Exit codes: 0 converted; 1 an object has an error, or a person must decide before applying; 2 wrong "
        "usage, or nothing could be read. With --values also 1 where a value is lost, or is a secret.",
    )
    add = parser.add_argument
    add(
        "-f",
        "--filename",
        action="append",
        metavar="PATH",
        help="a file, a folder, or - for stdin; repeatable",
    )
    add("-R", "--recursive", action="store_true", help="look into folders below the given ones")
    add(
        "--to",
        metavar="v1beta1|v1|RELEASE",
        help="target generation, without which each object goes to its next one; with --values a release",
    )
    add("--ignore-defaults", action="store_true", help="do not write out the requirements that the alpha webhook added")
    add("--node-role", type=_role_name, metavar="NAME", help="IAM role of the nodes, in place of a placeholder")
    add("--keep-instance-profile", action="store_true", help="keep instanceProfile instead of asking for a role")
    add("-o", "--output", choices=("yaml", "json", "table"), default="yaml", help="format (yaml); table: with --values")
    values = parser.add_argument_group("values of the charts")
    add = values.add_argument
    add(
        "--values",
        action="append",
        metavar="FILE",
        help="values of a chart in place of objects; further files, also by -f, are laid over it as Helm does",
    )
    add("--from", metavar="RELEASE", help="the Karpenter release that the values were given to, such as 0.31.4")
    add("--chart", choices=("karpenter", "karpenter-crd"), default="karpenter", help="the chart that reads them")
    add("--out", metavar="FILE", help="write the values to a new file, secrets included, and print none")
    return parser


def _check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exits if options are given that do not apply to manifests."""
    if not args.filename:
        parser.error("the following arguments are required: -f/--filename, or --values")
    if args.to not in (None, *GENERATIONS):
        parser.error(f"argument --to: invalid choice: {args.to!r} (choose from {', '.join(GENERATIONS)})")
    if args.output == "table" or args.out or vars(args)["from"]:
        parser.error("--from, --out and -o table go with --values")


def _files(name: str, *, recursive: bool) -> Iterator[Path]:
    """Returns the files of that name; for a folder, its manifest files in order."""
    path = Path(name)
    if not path.is_dir():
        yield path
        return
    for folder, below, names in os.walk(path):
        below.sort()
        yield from (Path(folder, entry) for entry in sorted(names) if entry.lower().endswith(_SUFFIXES))
        if not recursive:
            return


def _unreadable(name: str, reason: str) -> LocatedFinding:
    return LocatedFinding(ConversionFinding("file-unreadable", "", "", (), reason), name)


def _read(path: Path) -> bytes:
    # one byte more than allowed is enough to detect that it is too much
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _gather(names: Sequence[str], *, recursive: bool) -> tuple[list[tuple[str, bytes]], list[LocatedFinding]]:
    """Returns (file name, content) of everything named, each file once, and findings for what could not be opened."""
    texts: dict[str, tuple[str, bytes]] = {}
    unreadable: list[LocatedFinding] = []
    for name in names:
        if name == _STDIN:
            texts.setdefault(_STDIN, ("stdin", sys.stdin.buffer.read(MAX_BYTES + 1)))
            continue
        paths = list(_files(name, recursive=recursive))
        if not paths:
            unreadable.append(_unreadable(name, f"the folder holds no file that ends in {' '.join(_SUFFIXES)}"))
        for path in paths:
            try:
                texts.setdefault(os.path.realpath(path), (str(path), _read(path)))
            except OSError as error:
                unreadable.append(_unreadable(str(path), error.strerror or "cannot be opened"))
    return list(texts.values()), unreadable


def _printable(text: str) -> str:
    """Returns the text on one line without control characters, since names come from untrusted files."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def finding_line(finding: LocatedFinding) -> str:
    """Returns `severity code object path message (place)`; a dash replaces a missing object or path."""
    loss = finding.loss
    place = f" ({finding.place})" if finding.place else ""
    return _printable(f"{loss.severity} {loss.code} {loss.object} {loss.path or '-'}: {loss.what}{place}")


def _print(report: ConversionReport, *, output: str) -> None:
    for finding in report.findings:
        print(finding_line(finding), file=sys.stderr)
    sys.stdout.write(report.as_json() if output == "json" else report.as_yaml())
    sys.stdout.flush()


def run(argv: list[str]) -> int:
    """Returns 0: converted; 1: an error or a decision is open; 2: wrong usage, or nothing could be read."""
    parser = make_parser()
    try:
        args = parser.parse_args(argv)
        if args.values:
            from migrations_app.cli.convert_values import run_values  # manifests need none of it

            return run_values(args, parser)
        _check(parser, args)
    except SystemExit as usage_exit:
        return usage_exit.code if isinstance(usage_exit.code, int) else _USAGE_ERROR
    options = Options(
        to=args.to,
        ignore_defaults=args.ignore_defaults,
        node_role=args.node_role,
        keep_instance_profile=args.keep_instance_profile,
    )
    texts, unreadable = _gather(args.filename, recursive=args.recursive)
    report = convert_texts(texts, options, unreadable=unreadable)
    _print(report, output=args.output)
    return report.exit_code
