"""Faults outside of lists: in discovery, in the version, and in the Helm records that a list holds."""

import base64
import gzip
import json

from tests.fakes.evilk8s import Wire
from tests.fakes.lying.honest import Document, Turn
from tests.fakes.lying.way import GARBLED, NOTHING, Act, Fault, body, document, listed, status

NOT_FOUND = frozenset({"server_failed", "not_served", "not_asked"})
BOMB = gzip.compress(b'{"name": "' + b"x" * (64 << 20), 6)
KARPENTER = ("karpenter.sh", "karpenter.k8s.aws")


def _without(found: Document, _: Turn) -> None:
    found["items"] = [one for one in found["items"] if one["metadata"]["name"] not in KARPENTER]


def _renamed(version: str) -> Act:
    """Names a version of Karpenter's kinds that is not served."""

    def change(found: Document, _: Turn) -> None:
        for group in found["items"]:
            if group["metadata"]["name"] in KARPENTER:
                group["versions"] = [one | {"version": version} for one in group["versions"]]

    return document(change)


def _stale(found: Document, _: Turn) -> None:
    for group in found["items"]:
        for version in group["versions"]:
            version["freshness"] = "Stale"


def _more(found: Document, _: Turn) -> None:
    """Adds groups that are not served, with names that lead elsewhere."""
    row = {"resource": "../secrets", "scope": "Cluster", "verbs": ["list"], "responseKind": {"kind": "X"}}
    for group in ("constraints.gatekeeper.sh", "example.org"):
        found["items"].append({"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [row]}]})


def old_form(turn: Turn, wire: Wire) -> None:
    """A server without the aggregated form, whose groups cannot be read one by one."""
    groups = [
        {"name": one["metadata"]["name"], "versions": [{"version": v["version"]} for v in one["versions"]]}
        for one in turn.document["items"]
    ]
    wire.answer(json.dumps({"kind": "APIGroupList", "groups": groups}).encode())


def _many(turn: Turn) -> bytes:
    groups = [{"name": f"g{number}.example.org", "versions": [{"version": "v1"}]} for number in range(1001)]
    return json.dumps({"kind": "APIGroupList", "groups": groups}).encode()


def _record(packed: bytes) -> Act:
    """Replaces the content of Helm's records."""

    def change(found: Document, _: Turn) -> None:
        for one in found["items"]:
            one["data"] = {"release": base64.b64encode(base64.b64encode(packed)).decode()}

    return listed(change)


DISCOVERY: tuple[Fault, ...] = (
    Fault(name="discovery names nothing", on="discovery", act=body(lambda _: b'{"kind": "APIGroupDiscoveryList"}'),
        lie=True),
    Fault(name="discovery without Karpenter", on="discovery", act=document(_without), why=NOTHING),
    Fault(name="discovery of another version", on="discovery", act=_renamed("v9"), why=NOTHING),
    Fault(name="discovery of a version that is gone", harmless=True, on="discovery", act=_renamed("v1beta1"),
        why=NOT_FOUND),
    Fault(name="discovery is stale", on="discovery", act=document(_stale),
        why=frozenset({"server_failed", "not_asked"})),
    Fault(name="discovery of what leads elsewhere", on="discovery", act=document(_more), why=frozenset({"bad_path"})),
    Fault(name="discovery group by group fails", on="discovery", act=old_form, why=NOT_FOUND),
    Fault(name="discovery of a thousand groups", on="discovery", act=body(_many), why=GARBLED | NOT_FOUND),
    Fault(name="discovery is null", on="discovery", act=body(lambda _: b"null"), why=GARBLED | NOT_FOUND),
    Fault(name="discovery not found", on="discovery", act=status("404 No"), why=NOT_FOUND),
    Fault(name="discovery cut", on="discovery", act=lambda t, w: (w.raw(t.body[:99]), w.cut()),
        why=GARBLED | NOT_FOUND),
    Fault(name="discovery of an array", on="discovery", act=body(lambda _: b'{"items": [[]]}'),
        why=GARBLED | NOT_FOUND),
)  # fmt: skip
OTHERS: tuple[Fault, ...] = (
    Fault(name="version of a number", on="version", act=body(lambda _: b'{"gitVersion": 1}')),
    Fault(name="version is null", on="version", act=body(lambda _: b"null")),
    Fault(name="version absurd", on="version", act=body(lambda _: b'{"gitVersion": "v99999999999.-1", "major": ""}'),
        lie=True),
    Fault(name="version of a megabyte", on="version", lie=True,
        act=body(lambda _: json.dumps({"gitVersion": "v1." * (1 << 18), "minor": "9" * 5000}).encode())),
    Fault(name="version forbidden", on="version", act=status("403 No"), why=frozenset({"forbidden"})),
    Fault(name="Helm record that is a bomb", on="secrets", act=_record(BOMB)),
    Fault(name="Helm record cut", on="secrets", act=_record(BOMB[:5000])),
    Fault(name="Helm record of nothing", on="secrets", act=_record(b"")),
    Fault(name="Helm record of brackets", on="secrets", act=_record(gzip.compress(b"[" * 100_000))),
    Fault(name="Helm record that is null", on="secrets", act=_record(gzip.compress(b"null"))),
)  # fmt: skip
