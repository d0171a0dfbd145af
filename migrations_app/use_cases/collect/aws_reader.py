"""One reading of AWS under way: the client, the inventory that says what to look for, and how failures become parts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from migrations_app.clients.aws.client import AwsApi
from migrations_app.errors import Expired, InvalidInput, ReadError
from migrations_app.iam.policy import parse_policy
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import EksCluster, PolicyDocument, Role
from migrations_app.inventory.objects.cluster_arn import AwsPlace, RoleArn
from migrations_app.inventory.parts import Part, Seen, UnparsableObject, Unseen

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsReading:
    """`place` has the account that AWS named; `cluster` is what DescribeCluster gave."""

    api: AwsApi
    inventory: Inventory
    place: AwsPlace
    cluster: Part[EksCluster]


def part(read: Callable[[], Part[T]]) -> Part[T]:
    """What `read` gives; Unseen with the reason where it could not look or was handed what cannot be used."""
    try:
        return read()
    except (ReadError, InvalidInput) as reason:
        return Unseen(reason.code, reason.message)


def read_one(found: T | None) -> Seen[T]:
    """The part of a single thing: empty where AWS has none."""
    return Seen(() if found is None else (found,))


def each(given: Iterable[S], read: Callable[[S], T], *, kind: str, name: Callable[[S], str]) -> Part[T]:
    """A part of many things: what could not be read is set aside, and all of it is Unseen when nothing could."""
    good: list[T] = []
    bad: list[UnparsableObject] = []
    reasons: list[Unseen] = []
    for item in given:
        try:
            good.append(read(item))
        except ReadError as reason:
            reasons.append(Unseen(reason.code, reason.message))
            bad.append(UnparsableObject(kind, "", name(item), "", reason.message))
    return reasons[0] if reasons and not good else Seen(tuple(good), None, tuple(bad))


def role_part(reading: AwsReading, arn: RoleArn) -> Part[Role]:
    """The role of exactly that ARN; empty where there is none, Unseen where it is in an account we do not read."""
    if arn.account != reading.place.account:
        told = f"the role is in account {arn.account}; these credentials read account {reading.place.account}"
        return Unseen("other_account", told)

    def read() -> Part[Role]:
        found = reading.api.role(arn.name)
        # A role of the same name under another path is another role: nobody can assume it by this ARN.
        return read_one(found if found and found.arn == str(arn) else None)

    return part(read)


def policies(reading: AwsReading, role: Part[Role]) -> Part[PolicyDocument]:
    """All policies of a role, attached ones first; Unseen as soon as one is, since each could allow or deny."""
    if isinstance(role, Unseen):
        return role
    return part(lambda: Seen(tuple(document for found in role.items for document in _documents(reading, found.name))))


def _documents(reading: AwsReading, role: str) -> list[PolicyDocument]:
    attached = [reading.api.managed_policy(policy.arn) for policy in reading.api.attached_policies(role)]
    inline = [reading.api.inline_policy(role, name) for name in reading.api.inline_names(role)]
    return [_whole(document) for document in (*attached, *inline)]


def boundary(reading: AwsReading, role: Part[Role]) -> Part[PolicyDocument]:
    """The permissions boundary of a role; empty where it has none."""
    if isinstance(role, Unseen):
        return role
    arns = [found.boundary_arn for found in role.items if found.boundary_arn]
    return part(lambda: Seen(tuple(_whole(reading.api.managed_policy(arn)) for arn in arns)))


def _whole(document: PolicyDocument | None) -> PolicyDocument:
    """The document, when it can be judged. Raises Expired for one that vanished meanwhile, BadPolicy."""
    if document is None:
        raise Expired("a policy went away while the role was read", code="moved")
    parse_policy(document.text, name=document.name)
    return document
