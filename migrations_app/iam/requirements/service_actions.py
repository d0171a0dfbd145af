"""The controller's calls to SQS, SSM, Pricing, EKS, ARC zonal shift and STS, and iam:PassRole: one row an action.

requests.py, needs.py and statements.py take their rows from here. An action whose refusal has another effect in later
releases has one row for each span of releases. Sources are those of requests.py; if a row names none, it is
pkg/operator/operator.go.
"""

from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.iam.requirements.features import ALWAYS, OPERATOR, Feature, Need, Span
from migrations_app.iam.requirements.required_request import RequestSeverity, RequiredRequest
from migrations_app.iam.requirements.statement_grant import ARN_OF_KIND, GrantLine, StatementGrant

_SQS = "v1.14.1:pkg/providers/sqs/sqs.go"
_CHINA = ("aws-cn",)
_GOVCLOUD = ("aws-us-gov",)
_PARAMETER = "arn:{partition}:ssm:{region}:{owner}:parameter/{path}"


class ServiceAction(NamedTuple):
    """The request: `id` to `context`. Why: `effect` is what its refusal causes, `log` what is logged then.

    The statement that allows it: `sid`, the kind of its resource (ARN_OF_KIND) and its conditions. `resource` is the
    ARN that is asked for where it is narrower than that kind.
    """

    id: str
    action: str
    sid: str
    kind: str
    effect: str
    capability: str
    span: Span = ALWAYS
    resource: str = ""
    severity: RequestSeverity = "blocker"
    features: tuple[Feature, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    conditions: tuple[GrantLine, ...] = ()
    log: str = ""
    source: str = OPERATOR
    only_in: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()

    @property
    def probe(self) -> RequiredRequest:
        """The request."""
        return RequiredRequest(
            id=self.id,
            span=self.span,
            action=self.action,
            resource=self.resource or ARN_OF_KIND[self.kind],
            capability=self.capability,
            severity=self.severity,
            features=self.features,
            context=self.context,
            only_in=self.only_in,
            not_in=self.not_in,
        )

    @property
    def need(self) -> Need:
        """Why the controller needs the action."""
        return Need(
            action=self.action,
            span=self.span,
            effect=self.effect,
            log=self.log,
            request=self.id,
            source=self.source,
        )


def _get_queue_url(
    name: str, span: Span, *, effect: str, severity: RequestSeverity, log: str, source: str
) -> ServiceAction:
    """From 0.33 to 1.3 the controller exits at start if the URL is refused; otherwise it only logs."""
    return ServiceAction(
        f"sqs-GetQueueUrl-{name}",
        "sqs:GetQueueUrl",
        "ReadQueue",
        "queue",
        effect,
        "interruption",
        span,
        severity=severity,
        features=(Feature.QUEUE,),
        log=log,
        source=source,
    )


def _pass_role(
    name: str,
    service: str,
    *,
    effect: str,
    source: str,
    span: Span = ALWAYS,
    capability: str = "pass-role",
    features: tuple[Feature, ...] = (),
    only_in: tuple[str, ...] = (),
    not_in: tuple[str, ...] = (),
) -> ServiceAction:
    """The node role is passed to a service that policies name in iam:PassedToService."""
    return ServiceAction(
        name,
        "iam:PassRole",
        "PassNodeRole",
        "role",
        effect,
        capability,
        span,
        resource="arn:{partition}:iam::{account}:role/{role}",
        features=features,
        context=(("iam:PassedToService", service),),
        conditions=(("StringEquals", "iam:PassedToService", ("ec2.amazonaws.com", "ec2.amazonaws.com.cn")),),
        log="UnauthorizedOperation or AccessDenied naming iam:PassRole on the node role",
        source=source,
        only_in=only_in,
        not_in=not_in,
    )


def _pricing(name: str, span: Span, *, only_in: tuple[str, ...] = (), not_in: tuple[str, ...] = ()) -> ServiceAction:
    """The request may go to a region other than the cluster's, so no region condition is set."""
    return ServiceAction(
        name,
        "pricing:GetProducts",
        "ReadPrices",
        "*",
        "Built-in on-demand prices are used. It is asked in another region, so a region condition breaks it.",
        "pricing",
        span,
        severity="degraded",
        features=(Feature.OPEN_NETWORK,),
        log="retreiving on-demand pricing data",
        source="v1.14.1:pkg/providers/pricing/pricing.go",
        only_in=only_in,
        not_in=not_in,
    )


SERVICE_ACTIONS: tuple[ServiceAction, ...] = (
    ServiceAction(
        "sqs-DeleteMessage",
        "sqs:DeleteMessage",
        "ReadQueue",
        "queue",
        "The same messages come back until they expire after 300 s.",
        "interruption",
        severity="degraded",
        features=(Feature.QUEUE,),
        log="deleting messages from sqs queue",
        source=_SQS,
    ),
    ServiceAction(
        "sqs-ReceiveMessage",
        "sqs:ReceiveMessage",
        "ReadQueue",
        "queue",
        "Nobody reacts to spot interruptions and events.",
        "interruption",
        severity="degraded",
        features=(Feature.QUEUE,),
        log="receiving sqs messages",
        source=_SQS,
    ),
    _get_queue_url(
        "a",
        Span((0, 28), (0, 32)),
        effect="Interruptions are not handled; the failure is only logged.",
        severity="degraded",
        log="fetching queue url",
        source="v0.32.10:pkg/providers/sqs/sqs.go",
    ),
    _get_queue_url(
        "b",
        Span((0, 33), (1, 3)),
        effect="The controller panics at start.",
        severity="blocker",
        log="creating sqs provider",
        source="v0.33.10:pkg/controllers/controllers.go",
    ),
    _get_queue_url(
        "c",
        Span((1, 4)),
        effect="Interruptions are not handled; it is logged and tried again.",
        severity="degraded",
        log="failed to create valid sqs provider",
        source="v1.4.4:pkg/controllers/interruption/controller.go",
    ),
    _pricing("pricing", ALWAYS, not_in=_GOVCLOUD),
    # 1.7.0 gave it up there: aws/karpenter-provider-aws#8288.
    _pricing("pricing-govcloud", Span((0, 28), (1, 6)), only_in=_GOVCLOUD),
    ServiceAction(
        "ssm",
        "ssm:GetParameter",
        "ReadParameters",
        "parameter",
        "AMIs of an alias, an AMI family or an SSM parameter do not resolve.",
        "ssm-ami",
        resource=_PARAMETER,
        features=(Feature.AMI_ALIAS,),
        log="getting ssm parameter",
        source="v0.37.8:pkg/providers/ssm/provider.go",
    ),
    ServiceAction(
        "eks",
        "eks:DescribeCluster",
        "ReadCluster",
        "cluster",
        "Without a configured endpoint the controller ends at start; AL2023 node classes do not validate.",
        "eks-endpoint",
        features=(Feature.ENDPOINT_LOOKUP,),
        log="unable to detect the cluster endpoint (to 0.36); failed detecting cluster endpoint (0.37 on)",
    ),
    # The action has no resource type: an ARN in Resource, as in the templates of 1.12, never matches.
    ServiceAction(
        "zonal-shift",
        "arc-zonal-shift:GetManagedResource",
        "ReadZonalShift",
        "*",
        "The controller panics at start.",
        "zonal-shift",
        Span((1, 12)),
        features=(Feature.ZONAL_SHIFT,),
        context=(("arc-zonal-shift:ResourceIdentifier", ARN_OF_KIND["cluster"]),),
        conditions=(("StringEquals", "arc-zonal-shift:ResourceIdentifier", (ARN_OF_KIND["cluster"],)),),
        log="Unable to find Cluster ... in Zonal Shift",
    ),
    _pass_role(
        "pass-role",
        "ec2.amazonaws.com",
        effect="Launches are refused, and from 0.32 putting the role into an instance profile is.",
        source="v1.14.1:website/content/en/preview/reference/cloudformation.md",
        not_in=_CHINA,
    ),
    _pass_role(
        "pass-role-china",
        "ec2.amazonaws.com.cn",
        effect="Launches are refused: in China they pass the role to ec2.amazonaws.com.cn.",
        source="aws/karpenter-provider-aws#6843, #6839; terraform-aws-modules/terraform-aws-eks#3057, #3155, #3190",
        only_in=_CHINA,
    ),
    # IAM is told the other name, in China too: the node class is not ready if only that of launches is allowed.
    _pass_role(
        "pass-role-profile-china",
        "ec2.amazonaws.com",
        effect="The role cannot be put into an instance profile: in China, too, that passes it to ec2.amazonaws.com.",
        source="aws/karpenter-provider-aws#6839; terraform-aws-modules/terraform-aws-eks#3422",
        span=Span((0, 32)),
        capability="instance-profile",
        features=(Feature.SPEC_ROLE,),
        only_in=_CHINA,
    ),
    ServiceAction(
        "assume-role",
        "sts:AssumeRole",
        "AssumeController",
        "assumed role",
        "No call to AWS works.",
        "assume-role",
        Span((0, 30), (0, 37)),
        resource="{assume_role_arn}",
        features=(Feature.ASSUME_ROLE,),
        source="v0.30.0:pkg/operator/operator.go",
    ),
)


def service_grants() -> Iterator[StatementGrant]:
    """One grant for each sid, in the order of the rows; the actions of a sid share resource and conditions."""
    for sid in dict.fromkeys(row.sid for row in SERVICE_ACTIONS):
        rows = [row for row in SERVICE_ACTIONS if row.sid == sid]
        actions = tuple(sorted({row.action for row in rows}))
        yield StatementGrant(sid=sid, actions=actions, kinds=(rows[0].kind,), lines=rows[0].conditions)
