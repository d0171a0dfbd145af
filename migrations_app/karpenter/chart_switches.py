"""Variables that the chart writes by itself and leaves out where they are not read: nothing is lost with them.

ASSUME_ROLE_DURATION stands in every Deployment of 0.32 to 0.37; only ASSUME_ROLE_ARN beside it gives it a meaning.
LOGGING_CONFIG is none of them: no chart from 0.28 to 1.0 writes it, so whoever has it set it by hand.
Source: charts/karpenter/templates/deployment.yaml of aws/karpenter-provider-aws at v0.32.10, v0.37.8 and v1.0.14.
"""

from migrations_app.karpenter.versions import Release, minor_order

CHART_SWITCHES = frozenset({"DISABLE_WEBHOOK", "WEBHOOK_METRICS_PORT", "ASSUME_ROLE_DURATION"})


def ends_with_webhooks(key: str, coming: Release) -> bool:
    """Whether a Helm value goes together with what it configures: 1.1 has no webhooks, so nothing is lost with it."""
    return key.partition(".")[0] == "webhook" and minor_order(coming.minor) >= (1, 1)
