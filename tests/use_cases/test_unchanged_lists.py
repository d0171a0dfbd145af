"""A list is taken from an earlier scan only where its marks prove that it holds the very same objects."""

import json
import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from migrations_app.clients.kubernetes.api import MarksPage
from migrations_app.errors import Expired, Forbidden, InvalidResponse, ReadError, TimedOut
from migrations_app.inventory.list_marks import BLOCK
from migrations_app.use_cases.collect.collect import collect
from migrations_app.use_cases.collect.unchanged import LONGEST, MOST_PAUSES, PartMemory
from tests.fakes.cluster_api import FakeCluster

NOW = datetime(2026, 11, 23, 8, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
SINCE = "2026-11-23T08:00:00Z"


class Marked(FakeCluster):
    """A cluster that lists metadata too, two pages of it at least; `wrong` is raised on the way."""

    wrong: ReadError | None = None
    proofs = 0
    tells_rest = True

    def marks(self, resource):
        self.proofs += 1
        found = [json.loads(bytes(raw))["metadata"] for page in self.pages(resource) for raw in page.items]
        self.lists[resource.plural] -= 1
        half = len(found) // 2
        for part, rest in ((found[:half], len(found) - half), (found[half:], 0)):
            marks = [(one.get("uid"), one.get("resourceVersion")) for one in part]
            yield MarksPage(marks, rest if self.tells_rest else None)
            if self.wrong:
                raise self.wrong


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


def scanned(api, kept, *, now=LATER, least=1):
    memory = PartMemory(api, now, kept, least)
    return collect(api, cluster="c", memory=memory), memory


def lines(collected):
    return {line.name: line.unchanged_since for line in collected.parts if line.unchanged_since}


@pytest.fixture
def api():
    editor = Editor()
    return Marked(*(editor.pod() for _ in range(4)), editor.node("n-1"))


@pytest.fixture
def kept(api):
    return scanned(api, {}, now=NOW)[1].fresh


def test_the_first_scan_asks_for_no_proof_and_keeps_both_lists(api, kept):
    assert (sorted(kept), api.proofs) == (["nodes", "pods"], 0)
    assert {one.read_at for one in kept.values()} == {SINCE}


def test_the_second_scan_takes_what_was_proven_and_says_so(api, kept):
    first = collect(api, cluster="c")
    before = dict(api.lists)
    found, memory = scanned(api, kept)
    assert found.inventory == first.inventory
    assert lines(found) == {"pods": SINCE, "nodes": SINCE}
    assert (api.lists["pods"] - before["pods"], api.lists["nodes"] - before["nodes"]) == (0, 0)
    assert memory.fresh == {}


@pytest.mark.parametrize("tells_rest", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_random_changes_between_scans_give_what_a_whole_scan_gives(seed, tells_rest):
    editor = Editor(seed)
    api = Marked(*(editor.pod() for _ in range(6)), editor.node("n-1"))
    api.tells_rest = tells_rest
    kept, taken = {}, 0
    for number in range(12):
        how = editor.some_change(api.docs)
        found, memory = scanned(api, kept, now=NOW + timedelta(minutes=number))
        assert found.inventory == collect(api, cluster="c").inventory, how
        kept = kept | memory.fresh
        taken += len(memory.proven)
        if how not in ("none", "beat"):
            assert "pods" not in memory.proven
    assert taken > 0


@pytest.mark.parametrize("wrong", [Forbidden("no"), Expired("gone"), InvalidResponse("odd"), TimedOut("slow")])
def test_a_proof_that_fails_on_the_way_is_none(api, kept, wrong):
    api.wrong = wrong
    found, memory = scanned(api, kept)
    assert (found.inventory, lines(found)) == (collect(api, cluster="c").inventory, {})
    assert {name: one.misses for name, one in memory.fresh.items()} == {"pods": 0, "nodes": 0}


def test_another_version_of_the_server_or_of_our_sources_takes_nothing(api, kept):
    api.version["gitVersion"] = "v1.31.0"
    assert lines(scanned(api, kept)[0]) == {}
    other = {name: msgspec.structs.replace(one, key="another") for name, one in kept.items()}
    api.version["gitVersion"] = "v1.30.4-eks-a5df82a"
    assert (lines(scanned(api, other)[0]), len(lines(scanned(api, kept)[0]))) == ({}, 2)


@pytest.mark.parametrize(
    ("now", "taken"),
    [(NOW + LONGEST - timedelta(seconds=1), 2), (NOW + LONGEST, 0), (NOW - timedelta(seconds=1), 0)],
)
def test_after_a_day_or_with_a_clock_put_back_all_is_read_whole(api, kept, now, taken):
    assert len(lines(scanned(api, kept, now=now)[0])) == taken


def test_a_body_that_does_not_open_is_read_whole(api, kept):
    broken = {name: msgspec.structs.replace(one, body=b"{") for name, one in kept.items()}
    found, memory = scanned(api, broken)
    assert (found.inventory, lines(found)) == (collect(api, cluster="c").inventory, {})
    assert memory.fresh["pods"].body == kept["pods"].body


def test_short_lists_and_lists_with_objects_set_aside_are_not_kept(api):
    assert scanned(api, {}, least=2)[1].fresh.keys() == {"pods"}
    api.docs[0]["spec"] = "odd"
    assert scanned(api, {})[1].fresh.keys() == {"nodes"}


def test_objects_without_uid_or_version_are_not_kept(api):
    del api.docs[0]["metadata"]["uid"], api.docs[4]["metadata"]["resourceVersion"]
    assert scanned(api, {})[1].fresh == {}


def test_a_list_that_always_changes_is_asked_less_and_less(api, kept):
    editor, asked = Editor(9), []
    for hour in range(1, 60):
        api.docs[0] = editor.stamped(api.docs[0])
        before = api.proofs
        found, memory = scanned(api, kept, now=NOW + timedelta(minutes=hour))
        assert found.inventory == collect(api, cluster="c").inventory
        kept = {**kept, **memory.fresh}
        asked.append(api.proofs - before - ("nodes" in memory.proven))
    tries = [place for place, count in enumerate(asked) if count]
    pauses = [later - earlier - 1 for earlier, later in zip(tries, tries[1:], strict=False)]
    assert pauses == [0, 2, 6, 14, MOST_PAUSES][: len(pauses)] and len(pauses) >= 4
    assert kept["pods"].body == b""


def test_the_first_block_that_differs_ends_the_proof():
    editor = Editor()
    api = Marked(*(editor.pod() for _ in range(3 * BLOCK)), editor.node("n-1"))
    kept = scanned(api, {}, now=NOW)[1].fresh
    api.docs[0] = editor.stamped(api.docs[0])
    memory = PartMemory(api, LATER, {"pods": kept["pods"]}, 1)
    pages = []
    whole = api.marks

    def counted(resource):
        for page in whole(resource):
            pages.append(resource.plural)
            yield page

    api.marks = counted
    collect(api, cluster="c", memory=memory)
    assert pages == ["pods"]


