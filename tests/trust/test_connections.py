"""The parts of the programme about connections and watches: a few cases hold, and what is wrong is told."""

import random
from dataclasses import replace

import pytest

from migrations_app.clients.kubernetes import watching
from migrations_app.clients.kubernetes.transport import Transport
from tests.trust import connections
from tests.trust.connections import CHANGES, LIES, a_history, each, one_connection, one_watch


def cases(trial, count):
    return [why for why in each(trial, count, random.Random(7)) if why]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_connection_ends_in_the_truth_or_a_reason(change, monkeypatch):  # T06, T21, R11
    monkeypatch.setattr(connections, "CHANGES", (change,))
    assert cases(one_connection, 4) == []


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_watch_proves_nothing_that_is_not_so(lie, monkeypatch):  # T06, R14
    monkeypatch.setattr(connections, "LIES", (lie,))
    assert cases(one_watch, 6) == []


def test_histories_are_with_and_without_events():
    made = [a_history(random.Random(seed)) for seed in range(20)]
    assert {bool(history.events) for history in made} == {True, False}


def test_a_watch_that_is_believed_in_spite_of_an_event_is_told(monkeypatch):  # the positive controls
    judged = watching._judged
    monkeypatch.setattr(watching, "_judged", lambda line, *, reached: judged(line, reached=reached) or None)
    monkeypatch.setattr(connections, "LIES", ("nothing",))
    assert {why.rpartition(": ")[2] for why in cases(one_watch, 12)} == {"what changed was told as unchanged"}


def test_a_watch_that_is_never_believed_is_told(monkeypatch):
    monkeypatch.setattr(watching, "_judged", lambda line, *, reached: False)
    monkeypatch.setattr(connections, "LIES", ("nothing",))
    assert {why.rpartition(": ")[2] for why in cases(one_watch, 12)} == {"an honest watch was told as False"}


def test_an_answer_that_is_another_one_is_told(monkeypatch):
    get = Transport.get

    def misread(self, *words, **more):
        return replace(get(self, *words, **more), body=bytearray(b"{}"))

    monkeypatch.setattr(Transport, "get", misread)
    monkeypatch.setattr(connections, "CHANGES", ("nothing",))
    assert {why.rpartition(": ")[2] for why in cases(one_connection, 2)} == {"another answer than the server's"}


def test_what_can_be_read_on_the_way_is_told(monkeypatch):
    monkeypatch.setattr(connections, "CHANGES", ("nothing",))
    monkeypatch.setattr(connections, "CANARY", "\x16\x03")  # how a handshake begins
    assert {why.rpartition(": ")[2] for why in cases(one_connection, 1)} == {"the token was readable on the way"}
