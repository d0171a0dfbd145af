"""`karpdash person` at the terminal."""

import pytest
from django.contrib.auth.models import User

from migrations_app.cli import main
from migrations_app.models.account import Grant, Identity, TemporaryPassword
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterGroup
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.rights import must_change_password

pytestmark = pytest.mark.django_db


def test_the_first_administrator_is_made(capsys):
    assert main(["person", "create", "ada", "--admin"]) == 0
    password = capsys.readouterr().out.strip()
    row = User.objects.get(username="ada")
    assert (row.check_password(password), row.is_superuser) == (True, False)
    assert list(Grant.objects.values_list("person__username", "role", "over")) == [("ada", "admin", None)]


def test_roles_and_states_are_listed(capsys):
    ClusterGroup.objects.create(name="shop")
    main(["person", "create", "ada", "--admin"])
    main(["person", "create", "ben"])
    assert main(["person", "grant", "ben", "operator", "--over", "shop"]) == 0
    assert main(["person", "close", "ben"]) == 0
    capsys.readouterr()
    assert main(["person", "list"]) == 0
    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()] == [
        ["ada", "admin over every cluster"],
        ["ben", "operator over shop  closed"],
    ]
    assert main(["person", "open", "ben"]) == 0
    assert User.objects.get(username="ben").is_active


def test_a_role_is_given_over_any_of_many_groups(capsys, monkeypatch):
    monkeypatch.setattr("migrations_app.queries.accounts.people.MAX_ACCOUNTS", 1)
    ClusterGroup.objects.bulk_create([ClusterGroup(name="a"), ClusterGroup(name="z")])
    main(["person", "create", "ben"])
    assert main(["person", "grant", "ben", "viewer", "--over", "z"]) == 0


def test_a_forgotten_password_is_replaced_and_what_hung_on_it_ends(capsys):
    main(["person", "create", "ada", "--admin"])
    first = capsys.readouterr().out.strip()
    row = User.objects.get()
    TemporaryPassword.objects.all().delete()
    token = tokens.issue(row, name="ci", scopes=["read"], days=1).secret
    assert main(["person", "reset", "ada"]) == 0
    second = capsys.readouterr().out.strip()
    row.refresh_from_db()
    assert (len(second) >= 22, row.check_password(second), row.check_password(first)) == (True, True, False)
    assert (must_change_password(row.pk), tokens.authenticate(token)) == (True, None)
    assert AuditEvent.objects.latest("seq").verb == "account.password_reset"


def test_who_signs_in_at_a_provider_has_no_password_to_reset(capsys):
    row = User.objects.create_user("olga")
    Identity.objects.create(user=row, issuer="https://id.example", subject="u-1")
    assert (main(["person", "reset", "olga"]), main(["person", "reset", "nobody"])) == (2, 2)
    assert "identity provider" in capsys.readouterr().err
    assert TemporaryPassword.objects.count() == 0


@pytest.mark.parametrize(
    "words",
    [
        ("grant", "nobody", "viewer"),
        ("grant", "ada", "king"),
        ("grant", "ada", "viewer", "--over", "x"),
        ("close", "ada"),
    ],
)
def test_what_cannot_be_done(words, capsys):
    main(["person", "create", "ada", "--admin"])
    assert main(["person", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err
