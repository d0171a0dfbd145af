"""T23: a secret shows itself only when asked."""

import copy
import json
import pickle

import msgspec
import pytest

from migrations_app.clients.secret import Secret

CANARY = "canary-2b7e"


def test_a_secret_is_shown_nowhere() -> None:
    secret = Secret(CANARY)
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        str([secret]),
        str({"a": secret}),
    ]
    assert [each for each in shown if CANARY in each] == []
    assert secret.reveal() == CANARY


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, msgspec.json.encode, vars, dir])
def test_a_secret_leaves_by_no_other_way(way: object) -> None:
    try:
        found = way(Secret(CANARY))  # type: ignore[operator]  # each of them takes one value
    except TypeError:
        found = ""
    assert CANARY not in str(found)


def test_secrets_are_compared_by_value() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert hash(Secret("a")) == hash(Secret("b"))
    assert [bool(Secret("")), bool(Secret("a"))] == [False, True]
