"""`karpdash token`: API tokens. The secret is printed once, alone on stdout."""

import argparse

from migrations_app.cli.django_setup import run_verb
from migrations_app.cli.terminal import Exit, print_note, show
from migrations_app.errors import InvalidInput


def run(argv: list[str]) -> int:
    """Returns 0: done; 2: wrong usage or input."""
    return run_verb(make_parser(), argv)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash token", description="Tokens for the REST API.")
    verbs = parser.add_subparsers(required=True, metavar="create|list|revoke")
    create = verbs.add_parser("create", help="print a new token; it is shown once and stored nowhere")
    create.add_argument("--name", required=True, help="what it is for")
    scope_help = "read, scan, plan, act, admin, audit or metrics; may be repeated; read by default"
    create.add_argument("--scope", action="append", metavar="SCOPE", help=scope_help)
    create.add_argument("--days", type=int, default=30, help="how long it lives, 1 to 90")
    create.set_defaults(do=_create)
    listing = verbs.add_parser("list", help="show a user's tokens")
    listing.set_defaults(do=_list)
    revoke = verbs.add_parser("revoke", help="end a token at once")
    revoke.add_argument("id")
    revoke.set_defaults(do=_revoke)
    for verb in (create, listing, revoke):
        verb.add_argument("--user", required=True, help="the user that the token acts for")
    return parser


def _create(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.accounts import tokens

    issued = tokens.issue_for(options.user, name=options.name, scopes=options.scope or ["read"], days=options.days)
    print_note(
        f"token {issued.id} of {options.user}, good until {issued.expires_at:%Y-%m-%d %H:%M} UTC; not shown again:"
    )
    show(f"{issued.secret}\n")
    return Exit.READY


def _list(options: argparse.Namespace) -> int:
    from migrations_app.queries.accounts.tokens import tokens_of
    from migrations_app.readiness.outputs.plain import plain
    from migrations_app.use_cases.accounts.tokens import owner_named

    for row in tokens_of(owner_named(options.user).pk):
        state = "revoked" if row.revoked_at else f"until {row.expires_at:%Y-%m-%d}"
        show(f"{row.id}  {row.prefix}...  {','.join(row.scopes):<15}  {state:<16}  {plain(row.name)}\n")
    return Exit.READY


def _revoke(options: argparse.Namespace) -> int:
    import uuid

    from migrations_app.use_cases.accounts import tokens

    try:
        token_id = uuid.UUID(options.id)
    except ValueError:
        raise InvalidInput("is no token's id", where="id") from None
    tokens.revoke(token_id, owner_id=tokens.owner_named(options.user).pk)
    print_note(f"revoked {token_id}")
    return Exit.READY
