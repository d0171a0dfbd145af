"""Stores parts of long lists for the next scan, sealed for their cluster, because they hold names and labels of
pods.
"""

import hashlib
import uuid
import zlib
from collections.abc import Mapping
from datetime import datetime

import msgspec
from django.conf import settings

from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.collect.list_cache import CachedPart, PartMemory
from migrations_app.errors import InvalidSetting
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import KeptList
from migrations_app.use_cases.runtime.connections import keys
from migrations_app.use_cases.scans.identity import AnsweringCluster

FIELD = "kept_list"
COMPRESSION_LEVEL = 6
MAX_PART_BYTES = 4 * 1024 * 1024
"""Maximum bytes of one row: a longer part is not stored."""


def memory_of(
    cluster: Cluster, api: ClusterApi, *, answering_cluster: AnsweringCluster | None, now: datetime
) -> PartMemory | None:
    """The stored parts of earlier scans, bound to this cluster, its address and its credentials.

    None through an agent, which does not support watches, if the cluster's identity is not known, and without an
    encryption key.
    """
    if not isinstance(api, LiveApi) or cluster.source == Cluster.Source.AGENT:
        return None
    if answering_cluster is None or not answering_cluster.uid or not settings.ENV.encryption_keys:
        return None
    credentials_digest = hashlib.sha256(bytes(cluster.sealed or b"")).hexdigest()
    way = [cluster.source, cluster.server, cluster.context, cluster.eks_arn, cluster.role_arn, credentials_digest]
    bound = "\n".join([answering_cluster.uid, answering_cluster.ca_digest, *way])
    rows = KeptList.objects.filter(cluster=cluster)
    parts = {row.part: part for row in rows if (part := _decrypt_part(cluster.pk, bytes(row.sealed))) is not None}
    return PartMemory(api, bound, now, parts)


def _decrypt_part(cluster_id: uuid.UUID, sealed: bytes) -> CachedPart | None:
    try:
        packed = keys().open(sealed, owner=str(cluster_id), field=FIELD)
        return msgspec.msgpack.decode(zlib.decompress(packed), type=CachedPart)
    except (InvalidSetting, zlib.error, msgspec.DecodeError):
        return None


def sealed_lists(cluster_id: uuid.UUID, fresh: Mapping[str, CachedPart]) -> dict[str, bytes]:
    """The parts that the next scan needs, by name, compressed and sealed. This takes a while: call it before the
    transaction.
    """
    return {name: keys().seal(_packed(part), owner=str(cluster_id), field=FIELD) for name, part in fresh.items()}


def _packed(part: CachedPart) -> bytes:
    packed = zlib.compress(msgspec.msgpack.encode(part), COMPRESSION_LEVEL)
    return (
        packed
        if len(packed) <= MAX_PART_BYTES
        else zlib.compress(msgspec.msgpack.encode(CachedPart()), COMPRESSION_LEVEL)
    )


def store_lists(cluster_id: uuid.UUID, lists: Mapping[str, bytes], *, now: datetime) -> None:
    """Stores the sealed parts, in the transaction that stores the scan's result."""
    for name, sealed in lists.items():
        values = {"sealed": sealed, "changed_at": now}
        KeptList.objects.update_or_create(cluster_id=cluster_id, part=name, defaults=values)
