"""`karpdash scim`: tokens of directories that provision people over SCIM. The secret is printed once, on stdout."""

import argparse
import uuid

from migrations_app.cli.django_setup import run_verb
from migrations_app.cli.terminal import Exit, print_note, show
from migrations_app.errors import InvalidInput, NotFound


def run(argv: list[str]) -> int:
    """Returns 0: done; 2: wrong usage or input."""
    return run_verb(make_parser(), argv)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash scim", description="Tokens of directories that provision people.")
    verbs = parser.add_subparsers(required=True, metavar="create|list|revoke")
    create = verbs.add_parser("create", help="print a new token; it is shown once and stored nowhere")
    create.add_argument("--name", required=True, help="the directory that sends it")
    create.add_argument("--days", type=int, default=180, help="how long it lives, 1 to 365")
    create.set_defaults(do=_create)
    listing = verbs.add_parser("list", help="show the tokens, and when each was used last")
    listing.set_defaults(do=_list)
    revoke = verbs.add_parser("revoke", help="end a token at once")
    revoke.add_argument("id")
    revoke.set_defaults(do=_revoke)
    return parser


def _create(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.accounts.directory_tokens import issue_provisioning_token

    issued = issue_provisioning_token(options.name, days=options.days, person=None)
    print_note(f"token {issued.id}, good for /scim/v2 until {issued.expires_at:%Y-%m-%d %H:%M} UTC; not shown again:")
    show(f"{issued.secret}\n")
    return Exit.READY


def _list(_options: argparse.Namespace) -> int:
    from migrations_app.queries.accounts.directory import provisioning_tokens
    from migrations_app.readiness.outputs.plain import plain

    for row in provisioning_tokens():
        state = "revoked" if row.revoked_at else f"until {row.expires_at:%Y-%m-%d}"
        used = f"used {row.last_used_at:%Y-%m-%d}" if row.last_used_at else "never used"
        show(f"{row.id}  {row.prefix}...  {state:<16}  {used:<15}  {plain(row.name)}\n")
    return Exit.READY


def _revoke(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.accounts.directory_tokens import revoke_provisioning_token

    try:
        token_id = uuid.UUID(options.id)
        revoke_provisioning_token(token_id, person=None)
    except (ValueError, NotFound):
        raise InvalidInput("is the id of no token that is not revoked", where="id") from None
    print_note(f"revoked {token_id}")
    return Exit.READY
