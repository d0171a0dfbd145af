"""A way into an AWS account before it exists: the external id, and the policies that somebody makes the role with.

Nothing is stored. A draft is a signed text that its maker brings back with the role's ARN; only karpdash can make the
external id inside it (T12, T20), and the database lets one id belong to one cluster.

Proves a way into an AWS account before it is stored: the role opens with its id only, and sees the cluster.

Adds EKS clusters, and gives registered clusters a way into their AWS account. Nothing is stored unproven (T20).
"""

import json
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.clients.aws.cross_account import ClusterAccountAccess, new_external_id
from migrations_app.clients.aws.identity import own_principal, prove_guarded
from migrations_app.clients.aws.permissions import Document, minimal_policy, trust_policy
from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.errors import Conflict, Forbidden, InvalidInput, KarpdashError, ReadError, Unauthorized
from migrations_app.inventory.objects.cluster_arn import AwsPlace, read_place, read_role_arn
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.connection_test import ConnectionTest, failed, try_server
from migrations_app.use_cases.clusters.registration import Details, draft_used, found_cluster, new_row, stored
from migrations_app.use_cases.rollouts.lifecycle import void_plans
from migrations_app.use_cases.runtime.connections import eks_way, entry_of

GOOD_FOR = timedelta(days=7)
LONGEST = 4000
_SIGNER = signing.Signer(salt="karpdash.access-draft.1")
NO_IDENTITY = (
    "karpdash has no AWS identity of its own: set KARPDASH_AWS_ACCESS_KEY_ID and KARPDASH_AWS_SECRET_ACCESS_KEY, "
    "or KARPDASH_AWS_AMBIENT=1 where it runs with an IAM role"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDraft:
    """`text` is what comes back in the second step. The account of `place` is empty where nobody told it yet."""

    text: str
    place: AwsPlace
    external_id: str
    principal: str
    by: str
    expires_at: datetime

    @property
    def trust(self) -> Document:
        """The trust policy of the role to make."""
        return trust_policy(principal_arn=self.principal, external_id=self.external_id)

    @property
    def rights(self) -> Document:
        """The permissions of the role to make."""
        return minimal_policy(self.place)

    @property
    def trust_text(self) -> str:
        return json.dumps(self.trust, indent=2)

    @property
    def rights_text(self) -> str:
        return json.dumps(self.rights, indent=2)

    @property
    def cluster(self) -> str:
        """The cluster as it was named: its ARN, or its name."""
        return self.place.arn if self.place.account else self.place.cluster


def example_rights() -> str:
    """The permissions of a role to make, with names that stand in: to read before there is any draft."""
    return json.dumps(minimal_policy(), indent=2)


def draft_access(cluster: str, *, region: str = "", by: str) -> AccessDraft:
    """A new draft for the cluster of that ARN, or of that name in that region.

    Raises BadInput for what names no cluster, Conflict `no_identity`, CouldNotLook when AWS does not say who we are.
    """
    place = read_place(cluster, region=region)
    try:
        principal = own_principal(settings.ENV.aws, region=place.region)
    except Unauthorized as refused:
        raise no_identity(refused) from None
    until = (timezone.now() + GOOD_FOR).replace(microsecond=0)
    told = {
        "region": place.region,
        "cluster": place.cluster,
        "account": place.account,
        "external_id": new_external_id(),
        "principal": principal,
        "by": by,
        "until": int(until.timestamp()),
    }
    return _draft(_SIGNER.sign_object(told), told)


def read_draft(text: str, *, by: str) -> AccessDraft:
    """The draft that this person was given. Raises BadInput with code `bad_draft` or `draft_expired`."""
    try:
        told: dict[str, Any] = _SIGNER.unsign_object(text.strip()) if len(text) <= LONGEST else {}
    except signing.BadSignature:
        told = {}
    if not told or told["by"] != by:
        raise InvalidInput("karpdash gave no such draft to you; ask for a new one", code="bad_draft", where="draft")
    found = _draft(text.strip(), told)
    if found.expires_at <= timezone.now():
        raise InvalidInput("the draft is older than a week; ask for a new one", code="draft_expired", where="draft")
    return found


def no_identity(refused: Unauthorized) -> Unauthorized | Conflict:
    """The refusal itself, or what to set when karpdash is nobody to AWS."""
    return Conflict(NO_IDENTITY, code="no_identity") if refused.code == "no_identity" else refused


def _draft(text: str, told: dict[str, Any]) -> AccessDraft:
    return AccessDraft(
        text=text,
        place=AwsPlace(region=told["region"], cluster=told["cluster"], account=told["account"]),
        external_id=told["external_id"],
        principal=told["principal"],
        by=told["by"],
        expires_at=datetime.fromtimestamp(told["until"], UTC),
    )


UNGUARDED = "role_unguarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTest:
    """`guarded` is None when it was proven neither way; `arn` is the cluster that AWS described."""

    result: ConnectionTest
    guarded: bool | None = None
    arn: str = ""
    note: str = ""


def entry_of_draft(draft: AccessDraft, *, role_arn: str) -> ClusterAccountAccess:
    """The way in that the draft becomes with that role: the account is the cluster's or, not being told, the role's."""
    role = read_role_arn(role_arn.strip())
    return ClusterAccountAccess(
        region=draft.place.region,
        account=draft.place.account or (role.account if role else ""),
        role_arn=role_arn.strip(),
        external_id=draft.external_id,
        user=draft.by,
        action="register",
    )


def prove(entry: ClusterAccountAccess) -> None:
    """Returns when the role opens with its external id and not without (T20).

    Raises BadInput with `role_unguarded`, `role_refused` or what is wrong with the ARN; Conflict `no_identity`;
    CouldNotLook when AWS does not answer.
    """
    try:
        prove_guarded(entry, settings.ENV.aws)
    except Forbidden as refused:
        raise InvalidInput(refused.message, code="role_refused", where="role_arn") from None
    except Unauthorized as refused:
        raise no_identity(refused) from None


def described(entry: ClusterAccountAccess, place: AwsPlace) -> Connection:
    """What AWS says about the cluster; `context` is its ARN. Raises BadInput and CouldNotLook as `eks_way` does."""
    try:
        with eks_way(entry, _complete(place, entry)) as (connection, _):
            return connection
    except (Forbidden, InvalidInput) as wrong:
        raise _of_the_form(wrong) from None


def proven(draft: AccessDraft, *, role_arn: str) -> tuple[ClusterAccountAccess, Connection]:
    """The way in and the cluster behind it, both proven. Raises as `prove` and `described`."""
    entry = entry_of_draft(draft, role_arn=role_arn)
    prove(entry)
    return entry, described(entry, draft.place)


def try_access(entry: ClusterAccountAccess, place: AwsPlace, *, with_server: bool) -> AccessTest:
    """Every step, as far as it goes; nothing is stored. `with_server` also looks at the cluster's API server."""
    guarded: bool | None = None
    try:
        prove(entry)
        guarded = True
        return replace(_seen(entry, place, with_server=with_server), guarded=True)
    except (InvalidInput, Conflict, ReadError) as wrong:
        if wrong.code == UNGUARDED:
            guarded = False
        return AccessTest(result=failed(wrong), guarded=guarded)


def _seen(entry: ClusterAccountAccess, place: AwsPlace, *, with_server: bool) -> AccessTest:
    try:
        with eks_way(entry, _complete(place, entry)) as (connection, token):
            found = (
                try_server(connection, token=token)
                if with_server
                else ConnectionTest(reachable=True, server=connection.server.url)
            )
            return AccessTest(result=found, arn=connection.context)
    except (Forbidden, InvalidInput) as wrong:
        raise _of_the_form(wrong) from None


def _complete(place: AwsPlace, entry: ClusterAccountAccess) -> AwsPlace:
    return replace(place, account=entry.account)


def _of_the_form(wrong: KarpdashError) -> InvalidInput:
    """Says it of the field that a person can change; the place inside AWS's answer stays in the text."""
    if isinstance(wrong, Forbidden):
        return InvalidInput(wrong.message, code="role_too_narrow", where="role_arn")
    if wrong.where == "role_arn":
        return InvalidInput(wrong.message, code=wrong.code, where="role_arn")
    return InvalidInput(str(wrong), code=wrong.code, where="draft")


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
        raise InvalidInput(f"this cluster is registered as {cluster.eks_arn}", code="other_cluster", where="draft")
    return _changed(cluster, eks_arn=found.context, role_arn=entry.role_arn, external_id=entry.external_id)


def remove_access(cluster_id: uuid.UUID, *, version: int | None = None) -> int:
    """The row's new version; AWS is not asked about this cluster any more. Raises NotFound, BadInput, Conflict."""
    cluster = _may_have_access(cluster_id)
    _same_version(cluster, version)
    if cluster.source == Cluster.Source.EKS:
        raise InvalidInput(
            "an EKS cluster is only reached through its account; remove the cluster", code="access_needed"
        )
    return _changed(cluster, eks_arn="", role_arn="", external_id="")


def _may_have_access(cluster_id: uuid.UUID) -> Cluster:
    cluster = found_cluster(cluster_id)
    if cluster.source not in WITH_ACCESS:
        raise InvalidInput(f"a {cluster.source} stands for itself; AWS is not asked about it", code="no_access_here")
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
                record_audit_event(verb, cluster.name, cluster_id=cluster.pk, before=cluster.role_arn, **access)
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
