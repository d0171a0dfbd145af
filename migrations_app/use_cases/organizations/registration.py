"""Registers and removes AWS organizations: the hub role, the roles of the accounts, and the external id of both."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from migrations_app.clients.aws.cross_account import ClusterAccountAccess, new_external_id
from migrations_app.clients.aws.identity import own_principal
from migrations_app.errors import Conflict, InvalidInput, NotFound, Unauthorized
from migrations_app.iam.partitions import partition_of
from migrations_app.inventory.objects.cluster_arn import is_account, read_place
from migrations_app.models.organization import AwsOrganization
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.eks_registration import identity_error

HUB_ROLE = "karpdash-organization"
MEMBER_ROLE = "karpdash-reader"
MAX_REGIONS = 20
LONGEST_NAME = 120
_ROLE_NAME = re.compile(r"[\w+=,.@-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrganization:
    """The form of a new organization. `account` is the account of the hub role: the management account, or a delegated
    one.
    """

    name: str
    account: str
    regions: Sequence[str]
    hub_role: str = HUB_ROLE
    member_role: str = MEMBER_ROLE
    by: str = ""


def register_organization(request: NewOrganization) -> uuid.UUID:
    """Stores the organization with a new external id and returns its id; nothing in AWS is changed.

    Raises InvalidInput; Conflict `name_taken`, `no_identity`; ReadError if AWS does not report karpdash's identity.
    """
    regions = _checked(request)
    partition = partition_of(regions[0])
    row = AwsOrganization(
        name=request.name.strip(),
        hub_role_arn=f"arn:{partition}:iam::{request.account}:role/{request.hub_role}",
        member_role=request.member_role,
        regions=regions,
        external_id=new_external_id(),
        principal=_principal(regions[0]),
        created_by=request.by,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            record_audit_event(
                "organization.registered",
                row.name,
                organization=str(row.pk),
                hub_role=row.hub_role_arn,
                regions=regions,
            )
    except IntegrityError:
        raise Conflict(f"there is an organization named {row.name}", code="name_taken") from None
    return row.pk


def remove_organization(organization_id: uuid.UUID, *, typed_name: str) -> None:
    """Deletes an organization without clusters. Raises NotFound, InvalidInput unless its name was typed, Conflict."""
    row = require_organization(organization_id)
    if typed_name != row.name:
        raise InvalidInput("type the organization's name to remove it", where="name", code="name_not_typed")
    try:
        with transaction.atomic():
            record_audit_event("organization.removed", row.name, organization=str(row.pk), hub_role=row.hub_role_arn)
            row.delete()
    except ProtectedError:
        raise Conflict("its clusters are still registered; remove them first", code="has_clusters") from None


def require_organization(organization_id: uuid.UUID, *, locked: bool = False) -> AwsOrganization:
    """The row of the organization; `locked` until the transaction ends. Raises NotFound."""
    rows = AwsOrganization.objects.select_for_update() if locked else AwsOrganization.objects.all()
    row = rows.filter(pk=organization_id).first()
    if row is None:
        raise NotFound("no such organization")
    return row


def hub_access(row: AwsOrganization, *, action: str = "organization") -> ClusterAccountAccess:
    """The access to the hub role itself."""
    return ClusterAccountAccess(
        region=row.regions[0], role_arn=row.hub_role_arn, external_id=row.external_id, action=action
    )


def member_access(row: AwsOrganization, *, account: str, region: str) -> ClusterAccountAccess:
    """The access to the role in one account, through the hub role."""
    return ClusterAccountAccess(
        region=region,
        account=account,
        role_arn=member_role_arn(row, account),
        external_id=row.external_id,
        via=row.hub_role_arn,
        action="organization",
    )


def member_role_arn(row: AwsOrganization, account: str) -> str:
    """The ARN of the role in that account."""
    return f"arn:{partition_of(row.regions[0])}:iam::{account}:role/{row.member_role}"


def _checked(request: NewOrganization) -> list[str]:
    """The regions, in order and without duplicates. Raises InvalidInput."""
    name = request.name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"a name of 1 to {LONGEST_NAME} printable characters is needed", where="name")
    if not is_account(request.account):
        raise InvalidInput("an account has 12 digits", code="bad_account", where="account")
    for where in ("hub_role", "member_role"):
        if not _ROLE_NAME.fullmatch(getattr(request, where)):
            raise InvalidInput("the name of an IAM role, without a path, is needed", code="bad_role", where=where)
    if request.hub_role == request.member_role:
        raise InvalidInput("the two roles need different names", code="bad_role", where="member_role")
    regions = list(dict.fromkeys(region.strip() for region in request.regions if region.strip()))
    if not 1 <= len(regions) <= MAX_REGIONS:
        raise InvalidInput(f"1 to {MAX_REGIONS} regions are needed", code="bad_region", where="regions")
    for region in regions:
        _check_region(region)
    if len({partition_of(region) for region in regions}) > 1:
        raise InvalidInput("the regions have to be in one AWS partition", code="bad_region", where="regions")
    return regions


def _check_region(region: str) -> None:
    try:
        read_place("any", region=region)
    except InvalidInput as wrong:
        raise InvalidInput(wrong.message, code=wrong.code, where="regions") from None


def _principal(region: str) -> str:
    try:
        return own_principal(settings.ENV.aws, region=region)
    except Unauthorized as refused:
        raise identity_error(refused) from None
