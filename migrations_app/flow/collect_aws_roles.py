"""The controller's role: from its Pod Identity association, the annotation of its service account, or its settings."""

from collections.abc import Iterator

from migrations_app.errors import CouldNotLook
from migrations_app.flow.aws_reading import AwsReading, boundary, policies, role_part
from migrations_app.inventory.aws import ControllerRole, FoundBy
from migrations_app.inventory.aws_named import Account, controller_accounts, own_credentials, setting
from migrations_app.inventory.aws_place import read_role_arn
from migrations_app.inventory.seen import Part, Quarantined, Seen, Unseen

ASSUMED = "aws.assumeRoleARN"
_Found = tuple[FoundBy, str, Account]


def controller_roles(reading: AwsReading) -> Part[ControllerRole]:
    """Every role the controller may work as, in the order in which they count; a role by assume-role comes last.

    Unseen when it cannot be told; set aside is what might name one more.
    """
    accounts = controller_accounts(reading.inventory)
    if isinstance(accounts, Unseen):
        return accounts
    found: list[_Found] = []
    bad: list[Quarantined] = list(accounts.quarantined)
    for account in accounts.items:
        by_account = _of_account(reading, account)
        if isinstance(by_account, Unseen):
            return by_account
        found += by_account.items
        bad += by_account.quarantined
    assumed = setting(reading.inventory, ASSUMED)
    if isinstance(assumed, Unseen):
        bad.append(Quarantined("Deployment", "", "karpenter", "", f"assume-role setting: {assumed.detail}"))
    found += [("assume_role", arn, Account("", "", "")) for arn in assumed.items]
    return Seen(tuple(_read(reading, one) for one in found), None, tuple(bad))


def _of_account(reading: AwsReading, account: Account) -> Part[_Found]:
    """Roles of one service account. A refused look at associations leaves the annotation, and the doubt."""
    annotated: list[_Found] = [("irsa", account.annotated, account)] if account.annotated else []
    try:
        associated = list(_associated(reading, account))
    except CouldNotLook as reason:
        if not annotated:
            return Unseen(reason.code, reason.message)
        doubt = Quarantined("PodIdentityAssociation", account.namespace, account.name, "", reason.message)
        return Seen(tuple(annotated), None, (doubt,))
    found = [*associated, *annotated]
    return Seen(tuple(found)) if found else _from_environment(reading, account)


def _associated(reading: AwsReading, account: Account) -> Iterator[_Found]:
    for one in reading.api.associations(namespace=account.namespace, service_account=account.name):
        yield "pod_identity", one.role_arn, account
        if one.target_role_arn:
            yield "pod_identity_target", one.target_role_arn, account


def _from_environment(reading: AwsReading, account: Account) -> Part[_Found]:
    given = dict(own_credentials(reading.inventory))
    if "AWS_ACCESS_KEY_ID" in given:
        return Unseen("not_asked", "the controller has access keys in its environment; whose they are cannot be told")
    arn = given.get("AWS_ROLE_ARN", "")
    return Seen((("environment", arn, account),) if arn else ())


def _read(reading: AwsReading, found: _Found) -> ControllerRole:
    found_by, arn, account = found
    parsed = read_role_arn(arn)
    role = role_part(reading, parsed) if parsed else Unseen("bad_name", f"{arn[:100]!r} is not the ARN of a role")
    return ControllerRole(
        found_by=found_by,
        arn=arn,
        role=role,
        policies=policies(reading, role),
        boundary=boundary(reading, role),
        namespace=account.namespace,
        service_account=account.name,
    )
