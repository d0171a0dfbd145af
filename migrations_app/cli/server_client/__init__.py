"""`karpdash --server URL`: clusters, scans, findings, plans, rollouts, journeys and campaigns of a karpdash
server.

The token is read from a file or from the environment, never from an argument: every process of the machine can read
arguments.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli.server_client import campaigns, clusters, journeys, reports, rollouts
from migrations_app.errors import InvalidInput

if TYPE_CHECKING:
    from migrations_app.clients.karpdash_server import KarpdashServer

OPTION = "--server"
TOKEN = "KARPDASH_TOKEN"  # noqa: S105 - the name of a variable
LONGEST_TOKEN = 400


def run(argv: list[str]) -> int:
    """Returns the exit code of the same command without `--server`. 3: the server did not answer, or refused
    the token.
    """
    options = make_parser().parse_args(argv)
    return int(options.do(_connected(options), options))


def make_parser() -> argparse.ArgumentParser:
    """Returns the options, and the commands that a server answers."""
    parser = argparse.ArgumentParser(
        prog="karpdash --server URL",
        description="Ask a karpdash server instead of a cluster. Outputs and exit codes are those of the command "
        "without --server.",
        epilog=f"The token of the API is read from --token-file, else from the variable {TOKEN}. Nobody approves over "
        "the API: that is for people in the browser. Exit codes beside those of the command: 2 a request that the "
        "server refuses; 3 no answer, or the token is not accepted.",
    )
    parser.add_argument(OPTION, metavar="URL", required=True, help="such as https://karpdash.example.com")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help=f"a file that holds the token; else {TOKEN}")
    commands = parser.add_subparsers(required=True, metavar="campaign|cluster|journey|scan|findings|plan|rollout")
    for room in (campaigns, clusters, journeys, reports, rollouts):
        room.add_commands(commands)
    return parser


def _connected(options: argparse.Namespace) -> "KarpdashServer":
    from migrations_app.clients.karpdash_server import KarpdashServer
    from migrations_app.clients.secret import Secret

    return KarpdashServer(options.server, Secret(_token(options.token_file)))


def _token(file: Path | None) -> str:
    """Returns the token. Raises InvalidInput if there is none, or the text cannot be a token."""
    where = str(file) if file else TOKEN
    try:
        text = file.read_bytes()[: LONGEST_TOKEN + 1].decode() if file else os.environ.get(TOKEN, "")
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=where) from None
    except UnicodeDecodeError:
        text = "\0"
    token = text.strip()
    if not token:
        raise InvalidInput("holds no token; make one on the page Tokens of the server", where=where)
    if len(token) > LONGEST_TOKEN or not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidInput("holds something that is no token", where=where)
    return token
