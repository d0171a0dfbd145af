"""How karpdash enters an AWS account: its own identity, and the way into each cluster's account (T20)."""

import re
import secrets
from dataclasses import dataclass, field

from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.cluster_arn import RoleArn, is_account, partition_of, read_role_arn

LONGEST_SESSION_NAME = 64
_SESSION_SIGNS = re.compile(r"[^A-Za-z0-9_=,.@-]+")
_EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCredentials:
    """Credentials in memory. `token` is empty for those of a user."""

    access_key_id: str = field(repr=False)
    secret: Secret
    token: Secret = field(default_factory=lambda: Secret(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnIdentity:
    """Who karpdash is to AWS, as the deployment says: given keys, or those of its surroundings where that is allowed.

    The surroundings are environment variables, IRSA and EKS Pod Identity; instance metadata and files never are.
    """

    keys: AwsCredentials | None = None
    ambient: bool = False
    endpoint: str = ""
    """Another address for every service of AWS: for tests against one on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccountAccess:
    """The way into one cluster's account: a role with the external id made for that cluster, or keys of its own.

    `account` is the one that must be reached; `user` and `action` stand in the session's name.
    """

    region: str
    account: str = ""
    role_arn: str = ""
    external_id: str = ""
    keys: AwsCredentials | None = None
    user: str = ""
    action: str = "scan"

    @property
    def session_name(self) -> str:
        """Who does what, as CloudTrail shows it in the other account."""
        told = "-".join(filter(None, ("karpdash", self.action, self.user)))
        return _SESSION_SIGNS.sub("-", told)[:LONGEST_SESSION_NAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsLimits:
    """Seconds and tries of one call, and of all calls of one client."""

    connect_seconds: float = 5.0
    read_seconds: float = 20.0
    tries: int = 3
    all_seconds: float = 120.0
    session_seconds: int = 3600
    pages: int = 50


DEFAULT = AwsLimits()


def new_external_id() -> str:
    """An external id nobody can guess; made by karpdash, one for each cluster, never chosen by a person."""
    return f"karpdash-{secrets.token_hex(20)}"


def checked(entry: ClusterAccountAccess) -> RoleArn | None:
    """The role to take, None for keys. Raises BadInput for a way in that would let one customer use another's role."""
    if entry.account and not is_account(entry.account):
        raise InvalidInput("an account has 12 digits", code="bad_account", where="account")
    if entry.keys is not None and entry.role_arn:
        raise InvalidInput("either a role or keys, not both", code="two_identities", where="role_arn")
    if entry.keys is not None:
        return None
    role = read_role_arn(entry.role_arn)
    if role is None:
        raise InvalidInput("the ARN of a role to take is needed", code="bad_role", where="role_arn")
    if not _EXTERNAL_ID.fullmatch(entry.external_id):
        raise InvalidInput(
            "a role is only taken with the external id made for it", code="no_external_id", where="role_arn"
        )
    if role.partition != partition_of(entry.region):
        raise InvalidInput(f"the role is not of the partition of {entry.region}", code="bad_role", where="role_arn")
    if entry.account and role.account != entry.account:
        raise InvalidInput(
            f"the role is in account {role.account}, the cluster in {entry.account}",
            code="wrong_account",
            where="role_arn",
        )
    return role
