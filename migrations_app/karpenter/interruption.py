"""The EventBridge rules that feed the interruption queue.

Source: getting-started-with-karpenter/cloudformation.yaml of aws/karpenter-provider-aws, v0.28.1 to v1.14.1; from 1.10
on it has a fifth for interruptible capacity reservations.
"""

import json
from typing import NamedTuple


class Rule(NamedTuple):
    id: str
    source: str
    detail_type: str

    @property
    def pattern(self) -> str:
        """The event pattern as EventBridge takes it."""
        return json.dumps({"source": [self.source], "detail-type": [self.detail_type]})


RULES = (
    Rule("ScheduledChange", "aws.health", "AWS Health Event"),
    Rule("SpotInterruption", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
    Rule("Rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
    Rule("InstanceStateChange", "aws.ec2", "EC2 Instance State-change Notification"),
)
