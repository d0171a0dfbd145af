"""Fills an API server with very many objects at the cost of few: some are created, the rest are copies of them in etcd.

What etcd holds of an object is its text or its protobuf. A copy is the same bytes with other names of the same length,
so that no length in it changes; the API server reads it as any object that it stored itself. 150,000 pods through the
API take the server minutes of work on each core; so they take seconds.
"""

import base64
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from migrations_app.samples.karpenter_objects import Launched
from tests.bench import load, seed
from tests.bench.load import Size
from tests.servers.apiserver import ApiServer
from tests.servers.etcd import Etcd

Document = dict[str, Any]
A_TRANSACTION = 64
"""Copies in one request: etcd takes 128 operations and 1.5 MiB."""
NODE = "ip-{:05}.bench.internal"
CLAIM = "claim-{:05}"
INSTANCE = "i-{:017x}"
KEYS = {
    "Pod": "/registry/pods/{namespace}/{name}",
    "Node": "/registry/minions/{name}",
    "Machine": "/registry/karpenter.sh/machines/{name}",
}


def fill(server: ApiServer, size: Size) -> int:
    """Karpenter, workloads, nodes with their Machines, and pods; how many objects there are."""
    made = seed.install(server, [*load.installation(), *load.workloads()])
    node, claim, pods = _first()
    seed.fill(server.admin, seed.namespaces(pods))
    made += seed.fill(server.admin, [node, claim, *pods])
    made += _copied(server.etcd, _nodes(server, [node, claim], numbers=range(1, size.nodes)))
    return made + _copied(server.etcd, _pods(server, pods, size=size))


def _first() -> tuple[Document, Document, list[Document]]:
    """The first node, its Machine, and the first pod of each workload."""
    claim, node = load.machines([Launched(pool="web", number=0, cluster=load.CLUSTER, kubelet="v1.27.9-eks")])
    claim["metadata"]["name"] = node["metadata"]["ownerReferences"][0]["name"] = CLAIM.format(0)
    claim["status"]["nodeName"] = node["metadata"]["name"] = NODE.format(0)
    claim["status"]["providerID"] = node["spec"]["providerID"] = f"aws:///eu-central-1a/{INSTANCE.format(0)}"
    return node, claim, list(load.pods(range(load.WORKLOADS), [NODE.format(0)]))


@dataclass(frozen=True, slots=True)
class Original:
    """An object as etcd holds it."""

    key: str
    value: bytes
    uid: str

    def copy(self, names: Mapping[str, str]) -> tuple[str, bytes]:
        """Key and value with these names and a uid of its own. Raises ValueError where a length would change."""
        key, value = self.key, self.value
        for old, new in {**names, self.uid: str(uuid.uuid4())}.items():
            if len(old) != len(new):
                raise ValueError(f"{old} and {new} are not of one length")
            key, value = key.replace(old, new), value.replace(old.encode(), new.encode())
        return key, value


def _original(server: ApiServer, made: Document, *, key: str) -> Original:
    value = server.etcd.value(key)
    if value is None:
        raise LookupError(f"etcd holds no {key}")
    return Original(key, value, server.admin.get(server.admin.path_of(made))["metadata"]["uid"])


def _nodes(server: ApiServer, first: Sequence[Document], *, numbers: range) -> Iterator[tuple[str, bytes]]:
    originals = [_original(server, one, key=KEYS[one["kind"]].format(**one["metadata"])) for one in first]
    for number in numbers:
        names = {text.format(0): text.format(number) for text in (NODE, CLAIM, INSTANCE)}
        yield from (one.copy(names) for one in originals)


def _pods(server: ApiServer, first: Sequence[Document], *, size: Size) -> Iterator[tuple[str, bytes]]:
    originals = [_original(server, one, key=KEYS["Pod"].format(**one["metadata"])) for one in first]
    for number in range(len(first), size.pods):
        name = first[number % len(first)]["metadata"]["name"]
        copied = f"{name.removesuffix('00000')}{number // len(first):05}"
        names = {name: copied, NODE.format(0): NODE.format(number % size.nodes)}
        yield originals[number % len(first)].copy(names)


def _copied(etcd: Etcd, copies: Iterator[tuple[str, bytes]]) -> int:
    made = 0
    while batch := list(islice(copies, A_TRANSACTION)):
        made += etcd.put_all([(key, base64.b64encode(value).decode()) for key, value in batch])
    return made
