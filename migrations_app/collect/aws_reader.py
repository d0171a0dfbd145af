"""One read of AWS: the client, the inventory that names what to read, and the conversion of errors to unseen parts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from migrations_app.clients.aws.client import AwsApi
from migrations_app.errors import Expired, InvalidInput, ReadError
from migrations_app.iam.policy import parse_policy
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsRole, EksCluster, PolicyDocument
from migrations_app.inventory.objects.cluster_arn import AwsPlace, RoleArn
from migrations_app.inventory.parts import Part, Seen, UnparsableObject, Unseen

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsReading:
    """`place` has the account that AWS reported; `cluster` is the result of DescribeCluster."""

    api: AwsApi
    inventory: Inventory
    place: AwsPlace
    cluster: Part[EksCluster]


def part(read: Callable[[], Part[T]]) -> Part[T]:
    """The result of `read`; unseen with the reason if it raises ReadError or InvalidInput."""
    try:
        return read()
    except (ReadError, InvalidInput) as reason:
        return Unseen(reason.code, reason.message)


def read_one(value: T | None) -> Seen[T]:
    """The part of a single object: empty if AWS has none."""
    return Seen(() if value is None else (value,))


def each(items: Iterable[S], read: Callable[[S], T], *, kind: str, name: Callable[[S], str]) -> Part[T]:
    """A part of several objects. Objects that could not be read are set aside; unseen if none could be read."""
    good: list[T] = []
    bad: list[UnparsableObject] = []
    reasons: list[Unseen] = []
    for item in items:
        try:
            good.append(read(item))
        except ReadError as reason:
            reasons.append(Unseen(reason.code, reason.message))
            bad.append(UnparsableObject(kind, "", name(item), "", reason.message))
    return reasons[0] if reasons and not good else Seen(tuple(good), None, tuple(bad))


def role_part(reading: AwsReading, arn: RoleArn) -> Part[AwsRole]:
    """The role with exactly that ARN; empty if there is none, unseen if it is in an account that is not read."""
    if arn.account != reading.place.account:
        words = f"the role is in account {arn.account}; these credentials read account {reading.place.account}"
        return Unseen("other_account", words)

    def read() -> Part[AwsRole]:
        role = reading.api.role(arn.name)
        # A role of the same name under another path is another role, and cannot be assumed by this ARN.
        return read_one(role if role and role.arn == str(arn) else None)

    return part(read)


def policies(reading: AwsReading, role: Part[AwsRole]) -> Part[PolicyDocument]:
    """All policies of a role, attached ones first. Unseen if any is unreadable, since each could allow or deny."""
    if isinstance(role, Unseen):
        return role
    return part(lambda: Seen(tuple(document for item in role.items for document in _documents(reading, item.name))))


def _documents(reading: AwsReading, role: str) -> list[PolicyDocument]:
    attached = [reading.api.managed_policy(policy.arn) for policy in reading.api.attached_policies(role)]
    inline = [reading.api.inline_policy(role, name) for name in reading.api.inline_names(role)]
    return [_whole(document) for document in (*attached, *inline)]


def boundary(reading: AwsReading, role: Part[AwsRole]) -> Part[PolicyDocument]:
    """The permissions boundary of a role; empty if it has none."""
    if isinstance(role, Unseen):
        return role
    arns = [item.boundary_arn for item in role.items if item.boundary_arn]
    return part(lambda: Seen(tuple(_whole(reading.api.managed_policy(arn)) for arn in arns)))


def _whole(document: PolicyDocument | None) -> PolicyDocument:
    """The document, if it can be parsed. Raises Expired if it was deleted meanwhile, InvalidPolicy."""
    if document is None:
        raise Expired("a policy was removed while the role was read", code="moved")
    parse_policy(document.text, name=document.name)
    return document
