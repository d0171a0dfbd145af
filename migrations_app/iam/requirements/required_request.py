"""Converts a row of requests.py to the authorisation request that AWS would evaluate."""

from dataclasses import dataclass
from typing import Literal

from migrations_app.iam.evaluate import IamRequest
from migrations_app.iam.requirements.features import Feature, Minor, Span
from migrations_app.iam.site import AwsSite, pricing_region

Mode = Literal["nodepool", "provisioner", "any"]
RequestSeverity = Literal["blocker", "degraded"]
Tags = tuple[tuple[str, str], ...]

# Up to this release a launch template also carries karpenter.k8s.aws/cluster.
_CLUSTER_TAG_ON_TEMPLATES = Span((0, 28), (1, 0))


@dataclass(frozen=True, kw_only=True)
class RequiredRequest:
    """One request of the controller in the releases of `span`, for capacity of one owner (`mode`).

    Braces in `resource`, tags and context are filled from the site. `spec_tags` says that the tags of spec.tags are
    sent in addition; resources with controller tags carry them too. A row with `only_in` is sent in these AWS
    partitions alone, one with `not_in` in all others.
    """

    id: str
    span: Span
    action: str
    resource: str
    mode: Mode = "any"
    capability: str
    severity: RequestSeverity = "blocker"
    features: tuple[Feature, ...] = ()
    request_tags: Tags | None = None
    resource_tags: Tags | None = None
    context: Tags = ()
    spec_tags: bool = False
    only_in: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Type of the resource: `instance`, `role`, `queue`..., or `*` if the action has no resource type."""
        if self.resource in ("*", "{assume_role_arn}"):
            return "*" if self.resource == "*" else "assumed role"
        if ":sqs:" in self.resource:
            return "queue"
        return self.resource.split(":", 5)[5].partition("/")[0]

    @property
    def on_creation(self) -> bool:
        """Whether this authorises the tags of a creation call."""
        return any(key == "ec2:CreateAction" for key, _ in self.context)

    def requests(self, site: AwsSite, minor: Minor) -> tuple[IamRequest, ...]:
        """The request for this site; one for each node role or SSM parameter if that is the resource. None in a
        partition where the controller does not send it.
        """
        if site.partition in self.not_in or (self.only_in and site.partition not in self.only_in):
            return ()
        if self.kind == "role":
            return tuple(self._request(site, minor, words={"role": role}) for role in site.roles)
        if self.kind == "parameter":
            places = site.parameter_places
            return tuple(self._request(site, minor, words={"owner": owner, "path": path}) for owner, path in places)
        return (self._request(site, minor, words={}),)

    def _request(self, site: AwsSite, minor: Minor, *, words: dict[str, str]) -> IamRequest:
        filled = site.words() | words
        known = self.resource == "*" or self.request_tags is not None
        return IamRequest(
            action=self.action,
            resource=self.resource.format_map(filled),
            request_tags=self._tags(self.request_tags or (), site, minor=minor, spec_tags=self.spec_tags),
            resource_tags=None
            if self.resource_tags is None and not known
            else self._tags(self.resource_tags or (), site, minor=minor, spec_tags=True),
            context=self._context(site),
        )

    def _tags(self, tags: Tags, site: AwsSite, *, minor: Minor, spec_tags: bool) -> dict[str, str]:
        words = site.words()
        filled = {key.format_map(words): value.format_map(words) for key, value in tags}
        if not filled or not spec_tags:
            return filled
        if self.kind == "launch-template" and minor in _CLUSTER_TAG_ON_TEMPLATES:
            filled["karpenter.k8s.aws/cluster"] = site.cluster
        return {**site.extra_tags, **filled}

    def _context(self, site: AwsSite) -> dict[str, tuple[str, ...]]:
        """The context keys that every request of the controller states, plus those of the row.

        aws:RequestedRegion follows from the target region of the call, TLS from the SDK.
        """
        service = self.action.partition(":")[0]
        region = {"iam": site.iam_region, "pricing": pricing_region(site.region)}.get(service, site.region)
        context: dict[str, tuple[str, ...]] = {
            "aws:RequestedRegion": (region,),
            "aws:SecureTransport": ("true",),
            "aws:PrincipalAccount": (site.account,),
        }
        if service == "ec2":
            context["ec2:Region"] = (site.region,)
        if self.action == "ec2:CreateTags":
            context["ec2:CreateAction"] = ()
        words = site.words()
        return context | {key: (value.format_map(words),) for key, value in self.context}
