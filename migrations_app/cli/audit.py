"""`karpdash audit`: verifies, exports and seals the audit log. Verifying a file needs neither database nor network."""

import argparse
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from migrations_app import audit_verify
from migrations_app.cli.django_setup import at_terminal, setup_django
from migrations_app.cli.terminal import Exit, print_note, show, writing
from migrations_app.errors import InvalidInput


def run(argv: list[str]) -> int:
    """Returns 0: done or log intact; 1: the log is broken; 2: wrong usage or input."""
    options = make_parser().parse_args(argv)
    try:
        return int(options.do(options))
    except audit_verify.UnusableInput as error:
        raise InvalidInput(str(error)) from None


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash audit", description="The audit log and what proves it.")
    verbs = parser.add_subparsers(required=True, metavar="verify|export|checkpoints|key|seal|grants")
    verify = verbs.add_parser(
        "verify",
        help="prove an export, offline; without a FILE, the log of the database",
        epilog="Exit codes: 0 the log is whole; 1 it is broken; 2 it cannot be told: wrong usage, or nothing to read.",
    )
    audit_verify.add_options(verify)
    verify.set_defaults(do=_verify)
    export = verbs.add_parser("export", help="print the events as JSON lines, oldest first")
    export.add_argument("--from", dest="first", metavar="SEQ", type=int, default=1)
    export.add_argument("--to", dest="last", metavar="SEQ", type=int, default=None)
    export.set_defaults(do=_export)
    checkpoints = verbs.add_parser("checkpoints", help="print the signed checkpoints that the database holds")
    checkpoints.set_defaults(do=_checkpoints)
    for verb in (export, checkpoints):
        verb.add_argument("-o", "--output", metavar="FILE", type=Path, help="a new file instead of stdout")
    verbs.add_parser("key", help="print the public key of the checkpoints").set_defaults(do=_key)
    seal = verbs.add_parser("seal", help="keep what came since the last seal as a file with its checkpoints")
    seal.add_argument("folder", type=Path, help="where sealed segments are kept")
    seal.set_defaults(do=_seal)
    grants = verbs.add_parser("grants", help="print the SQL that gives a database role the least it needs")
    grants.add_argument("--role", default="karpdash_app")
    grants.set_defaults(do=_grants)
    return parser


def _verify(options: argparse.Namespace) -> int:
    verdict = audit_verify.verify_files(options) if options.files else _verify_live(options)
    gone = "" if options.files else _missing_guards()
    if gone:
        print_note(gone)
        verdict = replace(verdict, notes=(*verdict.notes, gone) if options.output == "json" else verdict.notes)
    show(audit_verify.verdict_text(verdict, output=options.output))
    return Exit.FINDINGS if gone or not verdict.ok else Exit.READY


def _missing_guards() -> str:
    """Returns which guards against changes of the log the database lacks; empty if all are in place."""
    from migrations_app.use_cases.audit.guards import missing_guards

    missing = ", ".join(missing_guards())
    return f"these triggers of the database are gone, so that events could be changed: {missing}" if missing else ""


def _verify_live(options: argparse.Namespace) -> audit_verify.ChainVerdict:
    if options.first != 1 or options.to is not None:
        raise InvalidInput(
            "the log of the database is proven as a whole; --from and --to go with a FILE", where="--from"
        )
    setup_django()
    from migrations_app.use_cases.audit.proof import prove

    outside = audit_verify.lines_of(options.checkpoints) if options.checkpoints else None
    return prove(keys=options.key, outside=outside)


def _export(options: argparse.Namespace) -> int:
    setup_django()
    from migrations_app.queries.audit.log import AuditFilters, export_lines

    if options.first < 1 or (options.last is not None and options.last < options.first):
        raise InvalidInput("events are counted from 1, and --to does not come before --from", where="--from")
    return _write(export_lines(AuditFilters(first=options.first, last=options.last)), options.output)


def _checkpoints(options: argparse.Namespace) -> int:
    setup_django()
    from migrations_app.use_cases.audit.proof import checkpoint_lines

    return _write(checkpoint_lines(), options.output)


def _write(lines: Iterable[bytes], path: Path | None) -> int:
    if path is None:
        for line in lines:
            show(line.decode("ascii"))
        return Exit.READY
    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(lines)
    return Exit.READY


def _key(_options: argparse.Namespace) -> int:
    setup_django()
    from migrations_app.use_cases.audit.checkpoints import public_key

    show(f"{public_key()}\n")
    return Exit.READY


def _seal(options: argparse.Namespace) -> int:
    setup_django()
    from migrations_app.use_cases.audit.archive import seal

    with at_terminal():
        archive = seal(options.folder)
    print_note(f"events {archive.first} to {archive.last}, sealed by {archive.checkpoints.name}; nothing was deleted")
    show(f"{archive.file}\n")
    return Exit.READY


def _grants(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.audit.guards import grants

    show(grants(options.role))
    return Exit.READY
