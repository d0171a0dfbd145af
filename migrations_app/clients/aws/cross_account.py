"""How karpdash gets access to an AWS account: its own identity, and the role or keys for each
cluster's account (T20).
"""

import re
import secrets
from dataclasses import dataclass, field, replace

from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput
from migrations_app.iam.partitions import partition_of
from migrations_app.inventory.objects.cluster_arn import RoleArn, is_account, read_role_arn

LONGEST_SESSION_NAME = 64
_SESSION_SIGNS = re.compile(r"[^A-Za-z0-9_=,.@-]+")
_EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCredentials:
    """Credentials in memory. `token` is empty for the keys of an IAM user."""

    access_key_id: str = field(repr=False)
    secret: Secret
    token: Secret = field(default_factory=lambda: Secret(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnIdentity:
    """karpdash's own AWS identity, from the settings: static keys, or ambient credentials if they are allowed.

    Ambient credentials come from environment variables, IRSA or EKS Pod Identity, never from instance metadata or
    files.
    """

    keys: AwsCredentials | None = None
    ambient: bool = False
    endpoint: str = ""
    """Endpoint URL that replaces that of every AWS service; for tests against a local server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccountAccess:
    """Access to one cluster's account: a role with an external id made for this cluster, or static keys.

    `account` is the account that must be reached; `user` and `action` become part of the session name. With `via`,
    the role of that ARN is assumed first, with the same external id, and it assumes `role_arn`.
    """

    region: str
    account: str = ""
    role_arn: str = ""
    external_id: str = ""
    via: str = ""
    keys: AwsCredentials | None = None
    user: str = ""
    action: str = "scan"

    @property
    def session_name(self) -> str:
        """The session name, with user and action, as CloudTrail shows it in the other account."""
        name = "-".join(filter(None, ("karpdash", self.action, self.user)))
        return _SESSION_SIGNS.sub("-", name)[:LONGEST_SESSION_NAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsLimits:
    """Timeouts in seconds, and tries, for one call and for all calls of one client."""

    connect_seconds: float = 5.0
    read_seconds: float = 20.0
    tries: int = 3
    all_seconds: float = 120.0
    session_seconds: int = 3600
    pages: int = 50


DEFAULT = AwsLimits()


def new_external_id() -> str:
    """A random external id. karpdash generates one for each cluster; users never choose it."""
    return f"karpdash-{secrets.token_hex(20)}"


def checked(entry: ClusterAccountAccess) -> RoleArn | None:
    """The role to assume, or None if static keys are used. Raises InvalidInput if the entry would let one customer use
    another's role.
    """
    if entry.account and not is_account(entry.account):
        raise InvalidInput("an account has 12 digits", code="bad_account", where="account")
    if entry.keys is not None and entry.role_arn:
        raise InvalidInput("either a role or keys, not both", code="two_identities", where="role_arn")
    if entry.keys is not None:
        return None
    role = read_role_arn(entry.role_arn)
    if role is None:
        raise InvalidInput("the ARN of the role to assume is needed", code="bad_role", where="role_arn")
    if not _EXTERNAL_ID.fullmatch(entry.external_id):
        raise InvalidInput(
            "a role is only assumed with the external id that was created for it",
            code="no_external_id",
            where="role_arn",
        )
    if role.partition != partition_of(entry.region):
        raise InvalidInput(f"the role is not in the partition of {entry.region}", code="bad_role", where="role_arn")
    if entry.account and role.account != entry.account:
        raise InvalidInput(
            f"the role is in account {role.account}, the cluster in {entry.account}",
            code="wrong_account",
            where="role_arn",
        )
    _check_via(entry)
    return role


def access_to_via(entry: ClusterAccountAccess) -> ClusterAccountAccess:
    """The access to the role of `via`, which assumes the role of the entry."""
    return replace(entry, role_arn=entry.via, account="", via="")


def _check_via(entry: ClusterAccountAccess) -> None:
    if not entry.via:
        return
    first = read_role_arn(entry.via)
    if first is None or first.partition != partition_of(entry.region):
        raise InvalidInput(
            f"the ARN of a role in the partition of {entry.region} is needed", code="bad_role", where="via"
        )
