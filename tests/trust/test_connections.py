"""The parts of the programme about connections and watches: a few cases hold, and what is wrong is told."""

import random
from dataclasses import replace

import pytest

from migrations_app.clients.kubernetes import watching
from migrations_app.clients.kubernetes.transport import Transport
from tests.trust import connections
from tests.trust.connections import CHANGES, LIES, a_history, each, one_connection, one_watch


def reasons(trial, *, count, seed):
    """What did not hold, without its place."""
    return {why.rpartition(": ")[2] for why in each(trial, count, random.Random(seed)) if why}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_connection_ends_in_the_truth_or_a_reason(change, monkeypatch):  # T06, T21, R11
    monkeypatch.setattr(connections, "CHANGES", (change,))
    assert reasons(one_connection, count=4, seed=change) == set()


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_watch_proves_nothing_that_is_not_so(lie, monkeypatch):  # T06, R14
    monkeypatch.setattr(connections, "LIES", (lie,))
    assert reasons(one_watch, count=6, seed=lie) == set()


def test_histories_are_with_and_without_events():
    made = [a_history(random.Random(seed)) for seed in range(20)]
    assert {bool(history.events) for history in made} == {True, False}


@pytest.mark.parametrize("change", [change for change in CHANGES if change != "nothing"])
def test_a_change_that_does_not_come_about_is_told(change, monkeypatch):  # the positive controls
    monkeypatch.setattr(connections, "CHANGES", (change,))
    monkeypatch.setattr(connections, "SERVER_BYTES", 1)
    monkeypatch.setattr(connections, "CLIENT_BYTES", 1)
    monkeypatch.setattr(connections.ChangingProxy, "_change_one", connections.ChangingProxy._pass)
    assert reasons(one_connection, count=1, seed=change) == {"the connection ended before that byte"}


@pytest.mark.parametrize("change", ["cut", "flip", "insert", "drop", "repeat"])
def test_every_change_of_the_handshake_is_felt(change, monkeypatch):
    """Told as if it were an honest connection, the first byte of each direction ends it with a reason."""
    ends = []
    get = Transport.get

    def noted(self, *words, **more):
        try:
            return get(self, *words, **more)
        except connections.ReadError as reason:
            ends.append(reason.code)
            raise

    monkeypatch.setattr(Transport, "get", noted)
    monkeypatch.setattr(connections, "CHANGES", (change,))
    monkeypatch.setattr(connections, "SERVER_BYTES", 1)
    monkeypatch.setattr(connections, "CLIENT_BYTES", 1)
    assert reasons(one_connection, count=6, seed=change) == set()
    assert len(ends) == 6


def test_a_watch_that_is_believed_in_spite_of_an_event_is_told(monkeypatch):
    judged = watching._event_proof
    monkeypatch.setattr(watching, "_event_proof", lambda line, *, version: judged(line, version=version) or None)
    for lie in ("nothing", "pieces", "garbage", "expired", "number"):
        monkeypatch.setattr(connections, "LIES", (lie,))
        assert reasons(one_watch, count=12, seed=7) == {"told as unchanged"}, lie


def test_a_watch_that_is_never_believed_is_told(monkeypatch):
    monkeypatch.setattr(watching, "_event_proof", lambda line, *, version: False)
    monkeypatch.setattr(connections, "LIES", ("nothing",))
    assert reasons(one_watch, count=12, seed=7) == {"an honest watch was told as False"}


def test_an_answer_that_is_another_one_is_told(monkeypatch):
    get = Transport.get

    def misread(self, *words, **more):
        return replace(get(self, *words, **more), body=bytearray(b"{}"))

    monkeypatch.setattr(Transport, "get", misread)
    monkeypatch.setattr(connections, "CHANGES", ("nothing",))
    assert reasons(one_connection, count=2, seed=7) == {"another answer than the server's"}


def test_what_can_be_read_on_the_way_is_told(monkeypatch):
    monkeypatch.setattr(connections, "CHANGES", ("nothing",))
    monkeypatch.setattr(connections, "CANARY", "\x16\x03")  # how a handshake begins
    assert reasons(one_connection, count=1, seed=7) == {"the token was readable on the way"}


def test_an_error_that_nobody_expects_is_told_with_its_seed():
    def broken(dice):
        raise ValueError(f"at {dice.random():.3f}")

    told = each(broken, 2, random.Random(7))
    assert [why.partition(": ")[0].startswith("seed ") for why in told] == [True, True]
    assert {why.split(": ")[1] for why in told} == {"ValueError"}
