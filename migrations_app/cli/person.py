"""`karpdash person`: accounts and their roles, for the first administrator and for scripts."""

import argparse

from migrations_app.cli.django_setup import run_verb
from migrations_app.cli.terminal import Exit, print_note, show


def run(argv: list[str]) -> int:
    """Returns 0: done; 2: wrong usage or input."""
    return run_verb(make_parser(), argv)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash person", description="Accounts and what they may do.")
    verbs = parser.add_subparsers(required=True, metavar="create|list|grant|reset|close|open")
    create = verbs.add_parser("create", help="print the one-time password of a new account")
    create.add_argument("name")
    create.add_argument("--admin", action="store_true", help="with the role admin over every cluster")
    create.set_defaults(do=_create)
    verbs.add_parser("list", help="show accounts and roles").set_defaults(do=_list)
    grant = verbs.add_parser("grant", help="give a role")
    grant.add_argument("name")
    grant.add_argument("role", help="viewer, operator, approver or admin")
    grant.add_argument("--over", metavar="GROUP", default="", help="a group of clusters; without it: every cluster")
    grant.set_defaults(do=_grant)
    reset = verbs.add_parser("reset", help="print a new one-time password; sessions and tokens of the account end")
    reset.add_argument("name")
    reset.set_defaults(do=_reset)
    for word, active in (("close", False), ("open", True)):
        verb = verbs.add_parser(word, help="end an account with its sessions and tokens" if not active else "undo that")
        verb.add_argument("name")
        verb.set_defaults(do=_turn, active=active)
    return parser


def _create(options: argparse.Namespace) -> int:
    from django.db import transaction

    from migrations_app.use_cases.accounts import management

    with transaction.atomic():
        password = management.create_account(options.name, person=None)
        if options.admin:
            management.grant_role(management.RoleGrant(role="admin", person=options.name), person=None)
    print_note(f"{options.name} signs in with this password once, and chooses another; it is not shown again:")
    show(f"{password}\n")
    return Exit.READY


def _list(_options: argparse.Namespace) -> int:
    from migrations_app.queries.accounts.people import accounts, grant_page
    from migrations_app.readiness.outputs.plain import plain

    grant_rows = grant_page().rows
    for row in accounts():
        grants = [grant_row for grant_row in grant_rows if grant_row.person == row.name or grant_row.team in row.teams]
        roles = ", ".join(f"{grant.role} over {grant.over_name or 'every cluster'}" for grant in grants)
        state = "" if row.active else "  closed"
        show(f"{plain(row.name):<20}  {'everything' if row.everything else plain(roles) or 'no role'}{state}\n")
    return Exit.READY


def _grant(options: argparse.Namespace) -> int:
    from migrations_app.queries.accounts.people import group_named
    from migrations_app.use_cases.accounts import management

    over = group_named(options.over) if options.over else None
    management.grant_role(management.RoleGrant(role=options.role, person=options.name, over=over), person=None)
    print_note(f"{options.name} is {options.role} over {options.over or 'every cluster'}")
    return Exit.READY


def _reset(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.accounts import management

    password = management.reset_password(options.name)
    print_note(f"{options.name} signs in with this password once, and chooses another; sessions and tokens have ended:")
    show(f"{password}\n")
    return Exit.READY


def _turn(options: argparse.Namespace) -> int:
    from migrations_app.use_cases.accounts import management

    management.set_active(options.name, active=options.active, person=None)
    print_note(f"{options.name} is {'open' if options.active else 'closed'}")
    return Exit.READY
