"""`karpdash convert --values`: converts values files of the charts from one release to another.

YAML on stdout keeps comments; a secret is never printed, so values that hold one are written to a file or not at all.
"""

import argparse
import os
import sys
from pathlib import Path

from migrations_app.cli.terminal import print_error, print_note, show
from migrations_app.conversion.chart_values.files import MAX_BYTES, ValuesReport, as_json, convert_files
from migrations_app.conversion.chart_values.table import lines
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.karpenter.versions import Release, parse
from migrations_app.readiness.outputs.plain import plain

_STDIN = "-"
_DECIDE, _UNUSABLE = 1, 2


def run_values(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Returns 0: converted; 1: a decision is open, or a secret forbids printing; 2: wrong usage, or a file that cannot
    be used: then nothing is printed or written.
    """
    start, target_release = (_release(parser, name=name, text=getattr(args, name)) for name in ("from", "to"))
    try:
        texts = [_read(name) for name in (*args.values, *(args.filename or ()))]
    except OSError as error:
        print_error(str(error.filename), error.strerror or "cannot be opened")
        return _UNUSABLE
    report = convert_files(texts, start=start, target_release=target_release, chart=args.chart)
    for finding in report.findings:
        print_note(plain(_line(finding)))
    if not report.text:
        return _UNUSABLE
    return _put(report, output=args.output, to=args.out)


def _release(parser: argparse.ArgumentParser, *, name: str, text: str | None) -> Release:
    release = parse(text)
    if release is None:
        parser.error(f"--values wants --{name} RELEASE, such as --{name} 1.0.14")
    return release


def _read(name: str) -> tuple[str, bytes]:
    if name == _STDIN:
        return "stdin", sys.stdin.buffer.read(MAX_BYTES + 1)
    with Path(name).open("rb") as stream:
        return name, stream.read(MAX_BYTES + 1)


def _line(finding: ConversionFinding) -> str:
    return f"{finding.severity} {finding.code} {finding.object} {finding.path or '-'}: {finding.what}"


def _put(report: ValuesReport, *, output: str, to: str | None) -> int:
    if to:
        return _write(report, to)
    if output == "yaml" and report.secret:
        message = "a value is a secret, so nothing is printed; --out FILE writes the values to a file of your own"
        secret = ConversionFinding("values-secret", "Values", "-", (), message)
        print_note(_line(secret))
        return _DECIDE
    texts = {"yaml": report.text, "json": as_json(report), "table": "".join(f"{line}\n" for line in lines(report.rows))}
    show(texts[output])
    return report.exit_code


def _write(report: ValuesReport, to: str) -> int:
    """Writes a new file that only its owner may read; an existing file is not changed."""
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        print_error(to, f"cannot be written: {error.strerror}")
        return _UNUSABLE
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(report.text)
    print_note(f"wrote {to}")
    return report.exit_code
