"""A list is taken from an earlier scan only where the server proves that nothing in it has changed."""

import json
import random
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect import list_cache
from migrations_app.collect.collect import collect
from migrations_app.collect.list_cache import MAX_LIST_AGE, MAX_PAUSES, CachedPart, PartMemory
from migrations_app.errors import Expired, Forbidden, InvalidResponse, ReadError, TimedOut
from migrations_app.inventory.parts import Unseen
from migrations_app.samples import fleet
from tests.fakes.cluster_api import FakeCluster

NOW = datetime(2026, 11, 23, 8, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
SINCE = "2026-11-23T08:00:00Z"


class Watched(FakeCluster):
    """A cluster whose lists have a version, and that tells whether anything was written since; `wrong` is raised."""

    wrong: ReadError | None = None
    proves = True

    def __init__(self, *docs, **more):
        super().__init__(*docs, **more)
        self.asked = []
        self.states = []

    def pages(self, resource):
        for page in super().pages(resource):
            yield replace(page, resource_version=str(self.state()))

    def state(self):
        """The number of this state of all objects; a state that comes back is another one."""
        now = json.dumps(self.docs)
        if not self.states or self.states[-1] != now:
            self.states.append(now)
        return len(self.states)

    def is_unchanged(self, resource, *, since, count, seconds):
        self.asked.append((resource.plural, since, seconds))
        if self.wrong:
            raise self.wrong
        kind = {"pods": "Pod", "nodes": "Node"}[resource.plural]
        self.state()
        seen = [[one for one in json.loads(state) if one["kind"] == kind] for state in self.states[int(since) - 1 :]]
        return self.proves and all(one == seen[0] for one in seen) and len(seen[0]) == count


class Editor:
    """Changes objects as an API server does: each change has a version of its own, each new object a uid."""

    def __init__(self, seed=0):
        self.chance, self.version, self.made = random.Random(seed), 100, 0

    def pod(self, namespace="shop"):
        self.made += 1
        self.version += 1
        metadata = {"name": f"p-{self.made}", "namespace": namespace, "uid": f"u-{self.made}"}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n-1"}}
        return self.stamped(made)

    def node(self, name):
        self.made += 1
        made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"u-{self.made}"}}
        return self.stamped(made)

    def stamped(self, document):
        self.version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self.version)}
        return {**document, "metadata": metadata}

    def some_change(self, docs):
        """One random change of the pods and nodes; the documents after it."""
        pods = [place for place, one in enumerate(docs) if one["kind"] == "Pod"]
        how = self.chance.choice(("none", "add", "drop", "swap", "label", "move", "beat"))
        if how == "add":
            docs.append(self.pod(self.chance.choice(("shop", "web"))))
        elif how == "drop":
            del docs[self.chance.choice(pods)]
        elif how == "swap":
            docs[self.chance.choice(pods)] = self.pod()
        elif how in ("label", "move"):
            place = self.chance.choice(pods)
            changed = msgspec.json.decode(json.dumps(docs[place]))
            if how == "label":
                changed["metadata"]["annotations"] = {"karpenter.sh/do-not-evict": str(self.version)}
            else:
                changed["spec"]["nodeName"] = f"n-{self.version}"
            docs[place] = self.stamped(changed)
        elif how == "beat":
            place = next(place for place, one in enumerate(docs) if one["kind"] == "Node")
            docs[place] = self.stamped(docs[place])
        return how


def scanned(api, kept, *, now=LATER, least=1, bound="c", deadline=600.0):
    memory = PartMemory(api, bound, now, kept, least)
    return collect(api, cluster="c", memory=memory, deadline=deadline), memory


def lines(collected):
    return {line.name: line.unchanged_since for line in collected.parts if line.unchanged_since}


def bodies(memory):
    return {name for name, one in memory.fresh.items() if one.body}


@pytest.fixture
def api():
    editor = Editor()
    return Watched(*(editor.pod() for _ in range(4)), editor.node("n-1"))


@pytest.fixture
def kept(api):
    return scanned(api, {}, now=NOW)[1].fresh


def test_the_first_scan_asks_for_no_proof_and_keeps_both_lists(api, kept):
    assert (sorted(kept), api.asked) == (["nodes", "pods"], [])
    assert {one.read_at for one in kept.values()} == {SINCE}


def test_the_second_scan_takes_what_was_proven_and_says_so(api, kept):
    first = collect(api, cluster="c")
    before = dict(api.lists)
    found, memory = scanned(api, kept)
    assert found.inventory == first.inventory
    assert lines(found) == {"pods": SINCE, "nodes": SINCE}
    assert (api.lists["pods"] - before["pods"], api.lists["nodes"] - before["nodes"]) == (0, 0)
    assert memory.fresh == {}


@pytest.mark.parametrize("seed", range(40))
def test_random_changes_between_scans_give_what_a_whole_scan_gives(seed):
    editor = Editor(seed)
    api = Watched(*(editor.pod() for _ in range(6)), editor.node("n-1"))
    kept, taken = {}, 0
    for number in range(12):
        how = editor.some_change(api.docs)
        found, memory = scanned(api, kept, now=NOW + timedelta(minutes=number))
        assert found.inventory == collect(api, cluster="c").inventory, how
        kept = kept | memory.fresh
        taken += len(memory.proven)
        if how in ("add", "drop", "swap", "label", "move"):
            assert "pods" not in memory.proven
    assert taken > 0


@pytest.mark.parametrize("wrong", [Forbidden("no"), Expired("gone"), InvalidResponse("odd"), TimedOut("slow")])
def test_a_proof_that_fails_on_the_way_is_none(api, kept, wrong):
    api.wrong = wrong
    found, memory = scanned(api, kept)
    assert (found.inventory, lines(found)) == (collect(api, cluster="c").inventory, {})
    assert {name: one.misses for name, one in memory.fresh.items()} == {"pods": 1, "nodes": 1}


def test_another_server_version_cluster_credential_or_release_of_ours_takes_nothing(api, kept, monkeypatch):
    assert (lines(scanned(api, kept, bound="other")[0]), api.asked) == ({}, [])
    api.version["gitVersion"] = "v1.31.0"
    assert (lines(scanned(api, kept)[0]), api.asked) == ({}, [])
    api.version["gitVersion"] = "v1.30.4-eks-a5df82a"
    assert len(lines(scanned(api, kept)[0])) == 2
    monkeypatch.setattr(list_cache, "_sources", lambda: "other")
    assert lines(scanned(api, kept)[0]) == {}


@pytest.mark.parametrize(
    ("now", "taken"),
    [(NOW + MAX_LIST_AGE - timedelta(seconds=1), 2), (NOW + MAX_LIST_AGE, 0), (NOW - timedelta(seconds=1), 0)],
)
def test_after_a_day_or_with_a_clock_put_back_all_is_read_whole(api, kept, now, taken):
    assert len(lines(scanned(api, kept, now=now)[0])) == taken


def test_a_body_that_does_not_open_is_read_whole(api, kept):
    broken = {name: msgspec.structs.replace(one, body=b"{") for name, one in kept.items()}
    found, memory = scanned(api, broken)
    assert (found.inventory, lines(found)) == (collect(api, cluster="c").inventory, {})
    assert (memory.fresh["pods"].body, memory.fresh["pods"].version) == (kept["pods"].body, kept["pods"].version)


def test_short_lists_and_lists_with_objects_set_aside_are_not_kept(api):
    assert bodies(scanned(api, {}, least=2)[1]) == {"pods"}
    api.docs[0]["spec"] = "odd"
    assert bodies(scanned(api, {})[1]) == {"nodes"}


def test_a_list_without_a_version_is_not_kept(api, monkeypatch):
    monkeypatch.setattr(Watched, "state", lambda self: "")
    assert scanned(api, {})[1].fresh == {}


def test_a_server_that_proves_nothing_is_asked_less_and_less(api, kept):
    tries = []
    api.proves = False
    for minute in range(1, 60):
        before = len(api.asked)
        found, memory = scanned(api, kept, now=NOW + timedelta(minutes=minute))
        assert found.inventory == collect(api, cluster="c").inventory
        kept = {**kept, **memory.fresh}
        tries += [minute] if len(api.asked) > before else []
    pauses = [later - earlier - 1 for earlier, later in pairwise(tries)]
    assert pauses == [0, 2, 6, 14, MAX_PAUSES]
    api.proves = True
    for minute in range(60, 90):
        memory = scanned(api, kept, now=NOW + timedelta(minutes=minute))[1]
        kept = {**kept, **memory.fresh}
    assert (sorted(memory.proven), kept["pods"].misses) == (["nodes", "pods"], 0)


@pytest.mark.parametrize(("took", "seconds"), [(0.4, 3), (16.0, 4), (60.0, 9), (200.0, 12)])
def test_a_watch_waits_for_a_share_of_what_the_list_took(api, kept, took, seconds):
    slow = {"pods": msgspec.structs.replace(kept["pods"], seconds=took)}
    scanned(api, slow)
    assert [one for one in api.asked if one[0] == "pods"] == [("pods", "1", seconds)]


@pytest.mark.parametrize(("deadline", "asked"), [(80.0, ["nodes"]), (300.0, ["nodes", "pods"])])
def test_no_proof_takes_the_time_that_reading_the_list_may_need(api, kept, deadline, asked):
    """A proof that fails must not cost the part, which a scan without it would have read in time."""
    slow = kept | {"pods": msgspec.structs.replace(kept["pods"], seconds=40.0)}
    found, memory = scanned(api, slow, deadline=deadline)
    assert (sorted(plural for plural, *_ in api.asked), sorted(memory.proven)) == (asked, asked)
    assert found.inventory == collect(api, cluster="c").inventory


def test_a_list_that_cannot_be_read_any_more_is_forgotten_and_its_proof_counts_as_failed(api, kept):
    api.wrong = Forbidden("no")
    api.refuse("pods", Forbidden("may not list pods"))
    found, memory = scanned(api, kept)
    assert found.inventory.pods == Unseen("forbidden", "may not list pods")
    assert memory.fresh["pods"] == CachedPart(misses=1)


@pytest.mark.parametrize("story", fleet.stories(), ids=lambda story: story.name)
def test_a_part_comes_out_as_it_was_kept(story):
    with closing(open_bundle(dict(fleet.files(story)))) as bundle:
        seen = collect(bundle, cluster="c").inventory
    for name, part in (("pods", seen.pods), ("nodes", seen.nodes)):
        again = list_cache._opened(name, msgspec.json.encode(part))
        assert (again, repr(again)) == (part, repr(part))
        assert part.items
