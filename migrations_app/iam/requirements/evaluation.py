"""Evaluates policies for a release by names and settings: one implementation for the command line and the API."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from migrations_app.iam.evaluate import oddities
from migrations_app.iam.partitions import known_partition_of, partition_of
from migrations_app.iam.policy import IamPolicy, filled
from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.iam.requirements.gaps import GapReport, find_gaps
from migrations_app.iam.site import AwsSite
from migrations_app.iam.site_from_policies import site_from_policies

# The allowed form of each name: no name can bring a wildcard or a placeholder into a request or a remedy.
NAME_FORMS = {
    "cluster_name": r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}",
    "account": r"[0-9]{12}",
    "region": r"[a-z]{2,}(-[a-z]+)+-[0-9]{1,2}",
    "partition": r"aws(-[a-z]+)*",
    "queue": r"(arn:[^*?${}\s]+:)?[0-9A-Za-z_-]{1,80}(\.fifo)?",
    "node_role": r"(arn:[^*?${}\s]+:role/)?[0-9A-Za-z_+=,.@/-]{1,600}",
    "assume_role_arn": r"arn:[^*?${}\s]+:role/[0-9A-Za-z_+=,.@/-]{1,600}",
    "tag": r"[^=]{1,128}=.{0,256}",
}
CHOSEN = tuple(feature for feature in Feature if feature is not Feature.ASSUME_ROLE)
"""The settings that can be turned on and off; a role to assume is given by its ARN."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """Documents and the release to evaluate them for. An empty name is read from the documents, if they contain it."""

    release: str
    policies: tuple[IamPolicy, ...]
    boundary: tuple[IamPolicy, ...] | None = None
    cluster_name: str = ""
    account: str = ""
    region: str = ""
    partition: str = ""
    queue: str = ""
    node_role: tuple[str, ...] = ()
    assume_role_arn: str = ""
    tag: tuple[str, ...] = ()
    turned_on: frozenset[Feature] = frozenset()
    turned_off: frozenset[Feature] = frozenset()

    def wrong(self) -> Iterator[tuple[str, str]]:
        """Each name that does not have the required form, with its field."""
        for name, form in NAME_FORMS.items():
            field_value = getattr(self, name)
            for value in field_value if isinstance(field_value, tuple) else (field_value,):
                if value and not re.fullmatch(form, value):
                    yield name, value

    def assumed(self) -> frozenset[Feature]:
        """The features that apply: the assumed ones, changed by the request."""
        assumed_role = {Feature.ASSUME_ROLE} if self.assume_role_arn else set()
        return (ASSUMED | self.turned_on | assumed_role) - self.turned_off


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """The result. `read` are names that were read from the documents; `odd` are parts of them without effect."""

    report: GapReport
    site: AwsSite
    policies: tuple[IamPolicy, ...]
    read: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[str, ...] = ()


def evaluate_request(request: EvaluationRequest) -> EvaluationResult:
    """What the documents lack for the release. Raises InvalidInput for a release whose needs are not known."""
    site, read = site_of(request)
    documents = (*request.policies, *(request.boundary or ()))
    report = find_gaps(
        request.policies, release=request.release, site=site, assumed=request.assumed(), boundary=request.boundary
    )
    odd = tuple(dict.fromkeys(line for document in documents for line in oddities(filled(document, site))))
    return EvaluationResult(report=report, site=site, policies=request.policies, read=read, odd=odd)


def slow_patterns(policies: Iterable[IamPolicy]) -> Iterator[str]:
    """The texts of policies that are compared character by character, for each request of a release: every value of a
    condition, and each action or resource with `?` or a variable."""
    for statement in (statement for policy in policies for statement in policy.statements):
        yield from (text for text in (*statement.actions, *statement.resources) if "?" in text or "${" in text)
        yield from (value for condition in statement.conditions for value in condition.values)


def site_of(request: EvaluationRequest) -> tuple[AwsSite, Mapping[str, str]]:
    """The names to evaluate with, and those among them that were read from the policies."""
    names = {
        "cluster": request.cluster_name,
        "account": request.account,
        "region": request.region,
        "partition": request.partition or known_partition_of(request.region),
        "queue": request.queue,
        "node_role": request.node_role,
    }
    read = _read(request.policies, names)
    plain = {name: str(value) for name, value in names.items() if value and name != "node_role"} | read
    plain.setdefault("partition", partition_of(plain.get("region", "")))
    role = plain.pop("node_role", "")
    site = AwsSite(
        **plain,
        node_roles=request.node_role or ((role,) if role else ()),
        assume_role_arn=request.assume_role_arn,
        parameters=(),
        extra_tags=dict(_pair(tag) for tag in request.tag),
    )
    return site, read


def _read(policies: Iterable[IamPolicy], names: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    return {name: value for name, value in sorted(site_from_policies(policies).items()) if not names[name]}


def _pair(tag: str) -> tuple[str, str]:
    key, _, value = tag.partition("=")
    return key, value
