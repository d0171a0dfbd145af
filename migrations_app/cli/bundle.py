"""`karpdash bundle`: writes what a scan reads, redacted, into one file that can be scanned elsewhere."""

import argparse
from pathlib import Path

from migrations_app.cli import version
from migrations_app.cli.sources import reachable, with_hint
from migrations_app.cli.terminal import Exit, Progress, output_file, print_note
from migrations_app.errors import AddressRefused
from migrations_app.use_cases.scans.one_off import bundle_kubeconfig


def run(argv: list[str]) -> int:
    """Returns 0: written; 2: wrong usage or input; 3: could not look, and nothing is written."""
    options = make_parser().parse_args(argv)
    try:
        with Progress() as progress:
            bundle = bundle_kubeconfig(
                options.kubeconfig,
                context=options.context,
                out=options.output,
                reachable=reachable(),
                made_by=f"karpdash {version()}",
                on_part=progress.part,
            )
    except AddressRefused as refused:
        raise with_hint(refused) from None
    print_note(f"wrote {options.output}: {bundle.objects} objects, {bundle.size} bytes")
    for line in bundle.unseen:
        print_note(f"not read: {line}")
    return Exit.READY


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash bundle",
        description="Write what a scan reads into a .tar.gz, without secrets and user data.",
        epilog="Exit codes: 0 written; 2 wrong usage or input; 3 could not look.",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, required=True)
    parser.add_argument("--context", metavar="C", default="", help="context of the kubeconfig; else its current one")
    parser.add_argument("-o", "--output", metavar="FILE.tar.gz", type=output_file, required=True)
    return parser
