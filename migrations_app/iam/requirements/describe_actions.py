"""The EC2 Describe actions that the controller calls: one row holds the request, its reason and its grant.

requests.py, needs.py and statements.py take their rows from here, so that a new Describe action is a single row.
Sources are those of requests.py; if a row names none, it is pkg/operator/operator.go.
"""

from typing import NamedTuple

from migrations_app.iam.requirements.features import ALWAYS, OPERATOR, Feature, Need, Span
from migrations_app.iam.requirements.required_request import Mode, RequestSeverity, RequiredRequest


class DescribeAction(NamedTuple):
    """One Describe action. `call` is the action without its service; `effect` says what its refusal causes, `log` what
    the controller logs then.

    `capability` and `features` are those of the request (required_request.py).
    """

    id: str
    call: str
    effect: str
    span: Span = ALWAYS
    log: str = ""
    source: str = OPERATOR
    capability: str = "discovery"
    severity: RequestSeverity = "blocker"
    mode: Mode = "any"
    features: tuple[Feature, ...] = ()

    @property
    def action(self) -> str:
        return f"ec2:{self.call}"

    @property
    def probe(self) -> RequiredRequest:
        """The request, which is made in the cluster's region."""
        return RequiredRequest(
            id=self.id,
            span=self.span,
            action=self.action,
            resource="*",
            mode=self.mode,
            capability=self.capability,
            severity=self.severity,
            features=self.features,
            context=(("aws:RequestedRegion", "{region}"),),
        )

    @property
    def need(self) -> Need:
        """Why the controller needs the action."""
        return Need(action=self.action, span=self.span, effect=self.effect, log=self.log, source=self.source)


DESCRIBE_ACTIONS: tuple[DescribeAction, ...] = (
    DescribeAction("read-DescribeImages", "DescribeImages", "AMIs do not resolve and the node class is never ready."),
    DescribeAction(
        "read-DescribeInstances",
        "DescribeInstances",
        "Instances are not listed: drift, garbage collection and tagging stand still.",
        log="describing ec2 instances",
        source="v0.32.10:pkg/providers/instance/instance.go",
    ),
    DescribeAction(
        "read-DescribeInstanceTypeOfferings",
        "DescribeInstanceTypeOfferings",
        "No offering is known, so nothing is launched; 1.14 panics at start.",
    ),
    DescribeAction(
        "read-DescribeInstanceTypes",
        "DescribeInstanceTypes",
        "The start-up check of EC2 access fails and the pods crash-loop.",
        log="Checking EC2 API connectivity (to 0.36); ec2 api connectivity check failed (0.37 on)",
    ),
    DescribeAction(
        "read-DescribeLaunchTemplates",
        "DescribeLaunchTemplates",
        "Existing launch templates are not found and launches fail.",
        log="describing launch templates",
        source="v0.37.8:pkg/providers/launchtemplate/launchtemplate.go",
    ),
    DescribeAction(
        "read-DescribeSecurityGroups",
        "DescribeSecurityGroups",
        "Security groups do not resolve and the node class is never ready.",
    ),
    DescribeAction(
        "read-DescribeSubnets",
        "DescribeSubnets",
        "Subnets do not resolve and the node class is never ready.",
    ),
    DescribeAction(
        "read-spot-prices",
        "DescribeSpotPriceHistory",
        "Spot prices stay at the built-in or last known ones.",
        log="retrieving spot pricing data",
        source="v1.14.1:pkg/providers/pricing/pricing.go",
        capability="pricing",
        severity="degraded",
    ),
    DescribeAction(
        "describe-reservations",
        "DescribeCapacityReservations",
        "The reservations of the node class do not resolve.",
        Span((1, 3)),
        log="getting capacity reservations",
        source="v1.14.1:pkg/controllers/nodeclass/capacityreservation.go",
        capability="capacity-reservation",
        mode="nodepool",
        features=(Feature.RESERVATIONS,),
    ),
    DescribeAction(
        "describe-placement-groups",
        "DescribePlacementGroups",
        "The node class reports PlacementGroupReady=False, PlacementGroupResolutionFailed.",
        Span((1, 11)),
        log="resolving placement group",
        source="v1.14.1:pkg/controllers/nodeclass/placementgroup.go",
        capability="placement-group",
        mode="nodepool",
        features=(Feature.PLACEMENT_GROUPS,),
    ),
    DescribeAction(
        "instance-status",
        "DescribeInstanceStatus",
        "Health checks of instances are off until the controller restarts; the rest goes on.",
        Span((1, 12)),
        log="ec2:DescribeInstanceStatus permission is not allowed, update the IAM policy and restart",
        source="v1.14.1:pkg/controllers/interruption/instancestatus_controller.go",
        capability="instance-status",
        severity="degraded",
    ),
)
