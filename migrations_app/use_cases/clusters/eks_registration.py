"""EKS registration and AWS access of clusters: draft, test, store. Nothing is stored untested (T20).

1. `draft_access` makes an external id and the policies of the role to create. The draft is a signed text, not a row:
   only karpdash can make its external id (T12, T20), and a unique constraint ties one id to one cluster.
2. The person creates the role in AWS and submits the draft with the role's ARN.
3. `prove` checks that the role can only be assumed with its external id; then AWS describes the cluster.
4. `register_eks` or `set_access` stores the access.
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
from migrations_app.clients.aws.permissions import minimal_policy, trust_policy
from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.errors import Conflict, Forbidden, InvalidInput, KarpdashError, ReadError, Unauthorized
from migrations_app.inventory.objects.cluster_arn import AwsPlace, read_place, read_role_arn
from migrations_app.manifests import JsonMap
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.connection_check import ConnectionTest, check_server, failed
from migrations_app.use_cases.clusters.registration import Details, draft_used_error, new_row, require_cluster, save_new
from migrations_app.use_cases.journeys.lifecycle import void_journeys
from migrations_app.use_cases.rollouts.lifecycle import void_plans
from migrations_app.use_cases.runtime.connections import connect_to_eks, entry_of

DRAFT_LIFETIME = timedelta(days=7)
MAX_DRAFT_LENGTH = 4000
_SIGNER = signing.Signer(salt="karpdash.access-draft.1")
NO_IDENTITY = (
    "karpdash has no AWS identity of its own: set KARPDASH_AWS_ACCESS_KEY_ID and KARPDASH_AWS_SECRET_ACCESS_KEY, "
    "or KARPDASH_AWS_AMBIENT=1 where it runs with an IAM role"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDraft:
    """`text` is the signed draft that the second step submits. The account in `place` is empty if unknown."""

    text: str
    place: AwsPlace
    external_id: str
    principal: str
    by: str
    expires_at: datetime

    @property
    def trust(self) -> JsonMap:
        """The trust policy of the role to create."""
        return trust_policy(principal_arn=self.principal, external_id=self.external_id)

    @property
    def rights(self) -> JsonMap:
        """The permissions of the role to create."""
        return minimal_policy(self.place)

    @property
    def trust_text(self) -> str:
        return json.dumps(self.trust, indent=2)

    @property
    def rights_text(self) -> str:
        return json.dumps(self.rights, indent=2)

    @property
    def cluster(self) -> str:
        """The cluster as entered: its ARN or its name."""
        return self.place.arn if self.place.account else self.place.cluster


def example_rights() -> str:
    """The permissions of a role with placeholder names, as an example before there is a draft."""
    return json.dumps(minimal_policy(), indent=2)


def draft_access(cluster: str, *, region: str = "", by: str) -> AccessDraft:
    """A new draft for the cluster with that ARN, or with that name in that region.

    Raises InvalidInput if it names no cluster, Conflict `no_identity`, ReadError when AWS does not report karpdash's
    identity.
    """
    place = read_place(cluster, region=region)
    try:
        principal = own_principal(settings.ENV.aws, region=place.region)
    except Unauthorized as refused:
        raise identity_error(refused) from None
    until = (timezone.now() + DRAFT_LIFETIME).replace(microsecond=0)
    fields = {
        "region": place.region,
        "cluster": place.cluster,
        "account": place.account,
        "external_id": new_external_id(),
        "principal": principal,
        "by": by,
        "until": int(until.timestamp()),
    }
    return _draft(_SIGNER.sign_object(fields), fields)


def read_draft(text: str, *, by: str) -> AccessDraft:
    """The draft that was made for this person. Raises InvalidInput `bad_draft` or `draft_expired`."""
    try:
        fields: dict[str, Any] = _SIGNER.unsign_object(text.strip()) if len(text) <= MAX_DRAFT_LENGTH else {}
    except signing.BadSignature:
        fields = {}
    if not fields or fields["by"] != by:
        raise InvalidInput("this draft was not created for you; create a new one", code="bad_draft", where="draft")
    access_draft = _draft(text.strip(), fields)
    if access_draft.expires_at <= timezone.now():
        raise InvalidInput("the draft is older than a week; create a new one", code="draft_expired", where="draft")
    return access_draft


def identity_error(refused: Unauthorized) -> Unauthorized | Conflict:
    """Conflict with the required settings if karpdash has no AWS identity; else the error itself."""
    return Conflict(NO_IDENTITY, code="no_identity") if refused.code == "no_identity" else refused


def _draft(text: str, fields: dict[str, Any]) -> AccessDraft:
    return AccessDraft(
        text=text,
        place=AwsPlace(region=fields["region"], cluster=fields["cluster"], account=fields["account"]),
        external_id=fields["external_id"],
        principal=fields["principal"],
        by=fields["by"],
        expires_at=datetime.fromtimestamp(fields["until"], UTC),
    )


UNGUARDED = "role_unguarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTest:
    """Result of an AWS access test. `guarded` is None if it was not tested; `arn` is the cluster that AWS described."""

    result: ConnectionTest
    guarded: bool | None = None
    arn: str = ""
    note: str = ""


def entry_of_draft(draft: AccessDraft, *, role_arn: str) -> ClusterAccountAccess:
    """The access by the draft and that role. The account is the cluster's or, if unknown, the role's."""
    role = read_role_arn(role_arn.strip())
    return ClusterAccountAccess(
        region=draft.place.region,
        account=draft.place.account or (role.account if role else ""),
        role_arn=role_arn.strip(),
        external_id=draft.external_id,
        user=draft.by,
        action="register",
    )


def require_guarded_role(entry: ClusterAccountAccess) -> None:
    """Returns if the role can be assumed with its external id and not without (T20).

    Raises InvalidInput `role_unguarded`, `role_refused` or for an invalid ARN; Conflict `no_identity`; ReadError if AWS
    does not answer.
    """
    try:
        prove_guarded(entry, settings.ENV.aws)
    except Forbidden as refused:
        raise InvalidInput(refused.message, code="role_refused", where="role_arn") from None
    except Unauthorized as refused:
        raise identity_error(refused) from None


def described_cluster(entry: ClusterAccountAccess, place: AwsPlace) -> Connection:
    """The cluster as AWS describes it; `context` is its ARN. Raises InvalidInput, ReadError as `connect_to_eks`."""
    try:
        with connect_to_eks(entry, _complete(place, entry)) as (connection, _):
            return connection
    except (Forbidden, InvalidInput) as wrong:
        raise _of_the_form(wrong) from None


def tested_access(draft: AccessDraft, *, role_arn: str) -> tuple[ClusterAccountAccess, Connection]:
    """The access and the cluster, both tested. Raises as `prove` and `described`."""
    entry = entry_of_draft(draft, role_arn=role_arn)
    require_guarded_role(entry)
    return entry, described_cluster(entry, draft.place)


def try_access(entry: ClusterAccountAccess, place: AwsPlace, *, with_server: bool) -> AccessTest:
    """Tests the access as far as possible and stores nothing. `with_server` tests the cluster's API server, too."""
    guarded: bool | None = None
    try:
        require_guarded_role(entry)
        guarded = True
        return replace(_test_access(entry, place, with_server=with_server), guarded=True)
    except (InvalidInput, Conflict, ReadError) as wrong:
        if wrong.code == UNGUARDED:
            guarded = False
        return AccessTest(result=failed(wrong), guarded=guarded)


def _test_access(entry: ClusterAccountAccess, place: AwsPlace, *, with_server: bool) -> AccessTest:
    try:
        with connect_to_eks(entry, _complete(place, entry)) as (connection, token):
            test = (
                check_server(connection, token=token)
                if with_server
                else ConnectionTest(reachable=True, server=connection.server.url)
            )
            return AccessTest(result=test, arn=connection.context)
    except (Forbidden, InvalidInput) as wrong:
        raise _of_the_form(wrong) from None


def _complete(place: AwsPlace, entry: ClusterAccountAccess) -> AwsPlace:
    return replace(place, account=entry.account)


def _of_the_form(error: KarpdashError) -> InvalidInput:
    """The error for the form field that a person can change; the original place stays in the text."""
    if isinstance(error, Forbidden):
        return InvalidInput(error.message, code="role_too_narrow", where="role_arn")
    if error.where == "role_arn":
        return InvalidInput(error.message, code=error.code, where="role_arn")
    return InvalidInput(str(error), code=error.code, where="draft")


WITH_ACCESS = (Cluster.Source.EKS, Cluster.Source.KUBECONFIG, Cluster.Source.IN_CLUSTER)
"""Sources that may have access to an AWS account; EKS needs it."""


def try_eks(draft: str, *, role_arn: str, by: str) -> AccessTest:
    """Tests a registration including the API server, and stores nothing. Raises InvalidInput for the draft."""
    access = read_draft(draft, by=by)
    return try_access(entry_of_draft(access, role_arn=role_arn), access.place, with_server=True)


def register_eks(draft: str, details: Details, *, role_arn: str) -> uuid.UUID:
    """Registers an EKS cluster and returns its id. Each scan asks AWS for endpoint and CA again (T21).

    Raises InvalidInput for the draft, the role or the cluster, Conflict for a taken name or a used draft, ReadError
    when AWS does not answer.
    """
    access = read_draft(draft, by=details.by)
    row = new_row(details, source=Cluster.Source.EKS)
    entry, connection = tested_access(access, role_arn=role_arn)
    row.server, row.eks_arn = connection.server.url, connection.context
    row.role_arn, row.external_id = entry.role_arn, entry.external_id
    return save_new(row, None)


def try_new_access(cluster_id: uuid.UUID, draft: str, *, role_arn: str, by: str) -> AccessTest:
    """As `try_eks`, for a registered cluster. Raises NotFound, InvalidInput."""
    cluster = _may_have_access(cluster_id)
    access = read_draft(draft, by=by)
    tried = try_access(
        entry_of_draft(access, role_arn=role_arn), access.place, with_server=cluster.source == Cluster.Source.EKS
    )
    return replace(tried, note=_note(cluster, tried))


def try_stored_access(cluster_id: uuid.UUID, *, by: str) -> AccessTest | None:
    """Tests the stored access again; None for a cluster without one. Raises NotFound."""
    cluster = require_cluster(cluster_id)
    entry = entry_of(cluster, user=by, action="register")
    if entry is None:
        return None
    tried = try_access(entry, read_place(cluster.eks_arn), with_server=cluster.source == Cluster.Source.EKS)
    return replace(tried, note=_note(cluster, tried))


def set_access(cluster_id: uuid.UUID, draft: str, *, role_arn: str, by: str, version: int | None = None) -> int:
    """Tests and stores AWS access, replacing an earlier one. Returns the row's new version.

    Raises NotFound, InvalidInput, ReadError; Conflict if `version` is not the current one or the draft was used.
    """
    cluster = _may_have_access(cluster_id)
    _same_version(cluster, version)
    entry, connection = tested_access(read_draft(draft, by=by), role_arn=role_arn)
    if cluster.source == Cluster.Source.EKS and connection.context != cluster.eks_arn:
        raise InvalidInput(f"this cluster is registered as {cluster.eks_arn}", code="other_cluster", where="draft")
    access = {"eks_arn": connection.context, "role_arn": entry.role_arn, "external_id": entry.external_id}
    return _changed(cluster, **access)


def remove_access(cluster_id: uuid.UUID, *, version: int | None = None) -> int:
    """Removes the AWS access and returns the row's new version. Raises NotFound, InvalidInput, Conflict."""
    cluster = _may_have_access(cluster_id)
    _same_version(cluster, version)
    if cluster.source == Cluster.Source.EKS:
        raise InvalidInput(
            "an EKS cluster is reached through its AWS account only; remove the cluster instead", code="access_needed"
        )
    return _changed(cluster, eks_arn="", role_arn="", external_id="")


def _may_have_access(cluster_id: uuid.UUID) -> Cluster:
    cluster = require_cluster(cluster_id)
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
                **access,
                organization=None,
                version=cluster.version + 1,
                credential_version=cluster.credential_version + 1,
            )
            if changed:
                verb = "access.given" if access["role_arn"] else "access.removed"
                record_audit_event(verb, cluster.name, cluster_id=cluster.pk, before=cluster.role_arn, **access)
            if changed:
                void_plans(cluster.pk)
                void_journeys(cluster.pk)
    except IntegrityError:
        raise draft_used_error() from None
    if not changed:
        raise Conflict("the cluster was changed meanwhile", code="stale")
    return cluster.version + 1


def _note(cluster: Cluster, tried: AccessTest) -> str:
    """A warning if the kubeconfig's server differs from the one that AWS reports: a proxy, or another cluster."""
    if cluster.source != Cluster.Source.KUBECONFIG or not tried.arn or tried.result.server == cluster.server:
        return ""
    return f"the kubeconfig goes to {cluster.server}, EKS names {tried.result.server}: are both one cluster?"
