"""A way into an AWS account before it exists: the external id, and the policies that somebody makes the role with.

Nothing is stored. A draft is a signed text that its maker brings back with the role's ARN; only karpdash can make the
external id inside it (T12, T20), and the database lets one id belong to one cluster.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.utils import timezone

from migrations_app.clients.aws_access import new_external_id
from migrations_app.clients.aws_own import own_principal
from migrations_app.clients.aws_rights import Document, minimal_policy, trust_policy
from migrations_app.errors import BadInput, Conflict, Unauthorized
from migrations_app.inventory.aws_place import AwsPlace, read_place

GOOD_FOR = timedelta(days=7)
LONGEST = 4000
_SIGNER = signing.Signer(salt="karpdash.access-draft.1")
NO_IDENTITY = (
    "karpdash has no AWS identity of its own: set KARPDASH_AWS_ACCESS_KEY_ID and KARPDASH_AWS_SECRET_ACCESS_KEY, "
    "or KARPDASH_AWS_AMBIENT=1 where it runs with an IAM role"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
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


def draft_access(cluster: str, *, region: str = "", by: str) -> Draft:
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


def read_draft(text: str, *, by: str) -> Draft:
    """The draft that this person was given. Raises BadInput with code `bad_draft` or `draft_expired`."""
    try:
        told: dict[str, Any] = _SIGNER.unsign_object(text.strip()) if len(text) <= LONGEST else {}
    except signing.BadSignature:
        told = {}
    if not told or told["by"] != by:
        raise BadInput("karpdash gave no such draft to you; ask for a new one", code="bad_draft", where="draft")
    found = _draft(text.strip(), told)
    if found.expires_at <= timezone.now():
        raise BadInput("the draft is older than a week; ask for a new one", code="draft_expired", where="draft")
    return found


def no_identity(refused: Unauthorized) -> Unauthorized | Conflict:
    """The refusal itself, or what to set when karpdash is nobody to AWS."""
    return Conflict(NO_IDENTITY, code="no_identity") if refused.code == "no_identity" else refused


def _draft(text: str, told: dict[str, Any]) -> Draft:
    return Draft(
        text=text,
        place=AwsPlace(region=told["region"], cluster=told["cluster"], account=told["account"]),
        external_id=told["external_id"],
        principal=told["principal"],
        by=told["by"],
        expires_at=datetime.fromtimestamp(told["until"], UTC),
    )
