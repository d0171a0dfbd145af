"""Adds EKS clusters, and gives registered clusters a way into their AWS account. Nothing is stored unproven (T20)."""

import uuid
from dataclasses import replace

from django.db import IntegrityError, transaction

from migrations_app.errors import BadInput, Conflict
from migrations_app.flow.acting import tell
from migrations_app.flow.connect import entry_of
from migrations_app.flow.draft_access import read_draft
from migrations_app.flow.prove_access import AccessTest, entry_of_draft, proven, try_access
from migrations_app.flow.register import Details, draft_used, found_cluster, new_row, stored
from migrations_app.flow.void_plans import void_plans
from migrations_app.inventory.aws_place import read_place
from migrations_app.models.cluster import Cluster

WITH_ACCESS = (Cluster.Source.EKS, Cluster.Source.KUBECONFIG, Cluster.Source.IN_CLUSTER)
"""Sources that may have a way into an account; EKS needs it."""


def try_eks(draft: str, *, role_arn: str, by: str) -> AccessTest:
    """Takes every step of a registration and looks at the API server; stores nothing. Raises BadInput for the draft."""
    told = read_draft(draft, by=by)
    return try_access(entry_of_draft(told, role_arn=role_arn), told.place, with_server=True)


def register_eks(draft: str, details: Details, *, role_arn: str) -> uuid.UUID:
    """The new cluster's id; endpoint and CA are asked of AWS anew at each scan (T21).

    Raises BadInput for the draft, the role or the cluster behind them, Conflict for a taken name or a used draft,
    CouldNotLook when AWS does not answer.
    """
    told = read_draft(draft, by=details.by)
    row = new_row(details, source=Cluster.Source.EKS)
    entry, found = proven(told, role_arn=role_arn)
    row.server, row.eks_arn = found.server.url, found.context
    row.role_arn, row.external_id = entry.role_arn, entry.external_id
    return stored(row, None)


def try_new_access(cluster_id: uuid.UUID, draft: str, *, role_arn: str, by: str) -> AccessTest:
    """As `try_eks`, for a registered cluster. Raises NotFound, BadInput."""
    cluster = _may_have_access(cluster_id)
    told = read_draft(draft, by=by)
    tried = try_access(
        entry_of_draft(told, role_arn=role_arn), told.place, with_server=cluster.source == Cluster.Source.EKS
    )
    return replace(tried, note=_note(cluster, tried))


def try_kept_access(cluster_id: uuid.UUID, *, by: str) -> AccessTest | None:
    """Proves the stored way in once more; None for a cluster without one. Raises NotFound."""
    cluster = found_cluster(cluster_id)
    entry = entry_of(cluster, user=by, action="register")
    if entry is None:
        return None
    tried = try_access(entry, read_place(cluster.eks_arn), with_server=cluster.source == Cluster.Source.EKS)
    return replace(tried, note=_note(cluster, tried))


def set_access(cluster_id: uuid.UUID, draft: str, *, role_arn: str, by: str, version: int | None = None) -> int:
    """The row's new version, once the role is proven; an older way in is replaced.

    Raises NotFound, BadInput, CouldNotLook; Conflict when `version` is not the current one or the draft was used.
    """
    cluster = _may_have_access(cluster_id)
    _same_version(cluster, version)
    entry, found = proven(read_draft(draft, by=by), role_arn=role_arn)
    if cluster.source == Cluster.Source.EKS and found.context != cluster.eks_arn:
        raise BadInput(f"this cluster is registered as {cluster.eks_arn}", code="other_cluster", where="draft")
    return _changed(cluster, eks_arn=found.context, role_arn=entry.role_arn, external_id=entry.external_id)


def remove_access(cluster_id: uuid.UUID, *, version: int | None = None) -> int:
    """The row's new version; AWS is not asked about this cluster any more. Raises NotFound, BadInput, Conflict."""
    cluster = _may_have_access(cluster_id)
    _same_version(cluster, version)
    if cluster.source == Cluster.Source.EKS:
        raise BadInput("an EKS cluster is only reached through its account; remove the cluster", code="access_needed")
    return _changed(cluster, eks_arn="", role_arn="", external_id="")


def _may_have_access(cluster_id: uuid.UUID) -> Cluster:
    cluster = found_cluster(cluster_id)
    if cluster.source not in WITH_ACCESS:
        raise BadInput(f"a {cluster.source} stands for itself; AWS is not asked about it", code="no_access_here")
    return cluster


def _same_version(cluster: Cluster, version: int | None) -> None:
    if version is not None and version != cluster.version:
        raise Conflict("the cluster was changed meanwhile", code="stale")


def _changed(cluster: Cluster, **access: str) -> int:
    try:
        with transaction.atomic():
            changed = Cluster.objects.filter(pk=cluster.pk, version=cluster.version).update(
                **access, version=cluster.version + 1, credential_version=cluster.credential_version + 1
            )
            if changed:
                verb = "access.given" if access["role_arn"] else "access.removed"
                tell(verb, cluster.name, cluster_id=cluster.pk, before=cluster.role_arn, **access)
            if changed:
                void_plans(cluster.pk)
    except IntegrityError:
        raise draft_used() from None
    if not changed:
        raise Conflict("the cluster was changed meanwhile", code="stale")
    return cluster.version + 1


def _note(cluster: Cluster, tried: AccessTest) -> str:
    """A warning when the kubeconfig goes elsewhere than AWS says: through a front end, or to another cluster."""
    if cluster.source != Cluster.Source.KUBECONFIG or not tried.arn or tried.result.server == cluster.server:
        return ""
    return f"the kubeconfig goes to {cluster.server}, EKS names {tried.result.server}: are both one cluster?"
