"""`karpdash rehearse` on a file, and on a registered cluster."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from pytest_django import Settings

from tests.cli.conftest import Karpdash
from tests.rehearsals.scene import Scene

ROLL = ("--action", "roll_nodes", "--batch", "2", "--pool-percent", "50")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """The dump of a small cluster."""
    found = tmp_path / "dump.json"
    items = Scene(nodes=3, pods=4, apps=2).documents
    found.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    return found


def test_a_dump_is_rehearsed_to_its_end(karpdash: Karpdash, dump: Path) -> None:
    said = karpdash("rehearse", "--bundle", dump, *ROLL)
    assert (said.code, "4 of 4 steps" in said.out) == (0, True), said.err


@pytest.mark.django_db
def test_a_registered_cluster_is_rehearsed_by_its_name(karpdash: Karpdash, dump: Path, settings: Settings) -> None:
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),), allow_loopback=True)
    added = karpdash("cluster", "add", "blue", "--bundle", dump, "--environment", "test")
    assert added.code == 0, added.err
    said = karpdash("rehearse", "--cluster", "blue", *ROLL, "-o", "json")
    assert (said.code, said.json["cluster"], said.json["finished"]) == (0, "blue", True), said.err
    unknown = karpdash("rehearse", "--cluster", "green", *ROLL)
    assert (unknown.code, "no cluster named 'green'" in unknown.err) == (2, True)


def test_a_context_goes_with_a_kubeconfig_only(karpdash: Karpdash, dump: Path) -> None:
    said = karpdash("rehearse", "--bundle", dump, "--context", "blue", *ROLL)
    assert (said.code, "--context" in said.err) == (2, True)


def test_the_whole_way_is_told_hop_by_hop(karpdash: Karpdash, bundle: Callable[[str], Path]) -> None:
    said = karpdash("rehearse", "--bundle", bundle("beta_037"), "--to", "1.0", "-o", "json")
    hops = [(one["hop"], one["lands"]) for one in said.json["hops"]]
    assert (said.code, hops) == (0, [("1.0", "1.0.14")]), said.err


def test_parameters_on_the_way_name_their_action(karpdash: Karpdash, dump: Path) -> None:
    said = karpdash("rehearse", "--bundle", dump, "--to", "1.0", "--set", "batch=2")
    assert (said.code, "ACTION.NAME=VALUE" in said.err) == (2, True)
    said = karpdash("rehearse", "--bundle", dump, "--to", "1.0", "--fail", "nodes-never-ready")
    assert (said.code, "--fail" in said.err) == (2, True)
