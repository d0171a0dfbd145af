"""`karpdash person` at the terminal."""

import pytest
from django.contrib.auth.models import User

from migrations_app.cli import main
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup

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
