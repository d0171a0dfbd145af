"""`karpdash completion SHELL`: a script that completes commands and options in a shell, made from their parsers."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from karpdash.command import PROJECT_COMMANDS

SHELLS = ("bash", "zsh", "fish")


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash completion",
        description="Print a script that completes karpdash in a shell.",
        epilog='For bash: eval "$(karpdash completion bash)" in ~/.bashrc. For zsh: write it to a file _karpdash in a '
        "folder of $fpath. For fish: write it to ~/.config/fish/completions/karpdash.fish.",
    )
    parser.add_argument("shell", choices=SHELLS)
    return parser


def run(argv: Sequence[str]) -> int:
    """Returns 0 after printing the script."""
    shell = make_parser().parse_args(argv).shell
    import shtab  # no other command needs it

    sys.stdout.write(shtab.complete(every_parser(), shell))
    return 0


def every_parser() -> argparse.ArgumentParser:
    """Returns one parser with every command as a subcommand and `--server` before them; used for completion only."""
    from migrations_app.cli import COMMANDS

    root = argparse.ArgumentParser(prog="karpdash")
    root.add_argument("--version", action="store_true", help="print the release")
    root.add_argument("--server", metavar="URL", help="ask a karpdash server")
    commands = root.add_subparsers()
    for name, about in COMMANDS.items():
        commands.add_parser(name, help=about, parents=[_parser_of(name)], add_help=False)
    return root


def _parser_of(name: str) -> argparse.ArgumentParser:
    if name == "completion":
        return make_parser()
    module_name = f"karpdash.{PROJECT_COMMANDS[name]}" if name in PROJECT_COMMANDS else f"migrations_app.cli.{name}"
    module: Any = importlib.import_module(module_name)
    parser: argparse.ArgumentParser = module.make_parser()
    return parser
