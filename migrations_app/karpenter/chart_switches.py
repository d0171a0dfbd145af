"""Variables that the chart writes by itself and leaves out where they are not read: nothing is lost with them.

Source: charts/karpenter/templates/deployment.yaml of aws/karpenter-provider-aws at v0.32.10, v0.37.8 and v1.0.14.
"""

CHART_SWITCHES = frozenset({"DISABLE_WEBHOOK", "WEBHOOK_METRICS_PORT", "LOGGING_CONFIG"})
