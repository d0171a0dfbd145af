"""Identity of a cluster: the uid of its namespace kube-system and its CA, compared in scans and rollouts (A05).

The first scan or preview stores both. Later, another identity is refused until a person accepts it.
"""

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.clients.kubernetes.writer import KUBE_SYSTEM
from migrations_app.errors import InvalidResponse, OtherCluster, ReadError
from migrations_app.models.cluster import Cluster

PART = "identity"
"""Name of the report line for a uid that could not be read; it is not a part of the inventory."""
COLUMNS = ("kube_system_uid", "ca_digest", "identity_error", "other_uid", "other_ca_digest")


@dataclass(frozen=True, slots=True)
class AnsweringCluster:
    """The identity of the cluster that answers. `uid` is empty if it could not be read; `error` is the code of the
    reason, `detail` its text.
    """

    uid: str
    ca_digest: str
    error: str = ""
    detail: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Namespace(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def answering(api: ClusterApi) -> AnsweringCluster | None:
    """The identity of the cluster behind the client; None for a bundle or a sample, which have no server."""
    if not isinstance(api, LiveApi):
        return None
    try:
        return AnsweringCluster(_uid(api.get(KUBE_SYSTEM.path)), api.ca_digest)
    except ReadError as reason:
        return AnsweringCluster("", api.ca_digest, reason.code, reason.message)


def _uid(body: bytes) -> str:
    try:
        uid = msgspec.json.decode(body, type=_Namespace).metadata.uid
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        uid = ""
    if not 0 < len(uid) <= LONGEST_UID or not uid.isprintable():
        raise InvalidResponse("the namespace kube-system has no usable uid")
    return uid


LONGEST_UID = 64


def difference(cluster: Cluster, other: AnsweringCluster | None) -> str:
    """The text of how the answering cluster differs from the registered one; empty if it does not differ or is not
    known.
    """
    if other is None or not other.uid or not cluster.kube_system_uid:
        return ""
    if other.uid != cluster.kube_system_uid:
        return (
            f"the uid of its namespace kube-system is {other.uid}, and this cluster's is {cluster.kube_system_uid}: "
            "nothing of it was stored"
        )
    if cluster.ca_digest and other.ca_digest != cluster.ca_digest:
        return "its uid is this cluster's and its CA is another one: nothing of it was stored"
    return ""


def refuse_other(cluster: Cluster, other: AnsweringCluster | None) -> None:
    """Raises OtherCluster if another cluster than the registered one answers, and stores the identity of that
    cluster.
    """
    why = difference(cluster, other)
    if why and other is not None:
        columns = {"other_uid": other.uid, "other_ca_digest": other.ca_digest, "identity_error": ""}
        Cluster.objects.filter(pk=cluster.pk).update(**columns)
        raise OtherCluster(why)


def store_identity(cluster_id: uuid.UUID, other: AnsweringCluster | None) -> None:
    """Stores the identity in the transaction that stores the scan's result.

    Raises OtherCluster as `refuse_other`. The first uid that is read becomes the registered one. A uid that could not
    be read changes no stored value.
    """
    if other is None:
        return
    row = Cluster.objects.select_for_update().only("pk", *COLUMNS).get(pk=cluster_id)
    if why := difference(row, other):
        raise OtherCluster(why)
    fresh: dict[str, Any] = {"identity_error": other.error[:60]}
    if other.uid:
        fresh |= {"kube_system_uid": other.uid, "ca_digest": other.ca_digest, "other_uid": "", "other_ca_digest": ""}
    if any(getattr(row, name) != value for name, value in fresh.items()):
        Cluster.objects.filter(pk=cluster_id).update(**fresh)
