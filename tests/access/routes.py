"""The permission matrix of the REST API: who gets past the door of each route.

Columns: anonymous, nobody (no role), then viewer, operator, approver and admin of a group, and chief, an admin of
everything. Signs: `L` sent to the sign-in, `1` not signed in, `3` may not, `4` is not there, `+` let in.
The first word of signs is for a thing of the group's cluster, the second for one of a cluster of another group.
"""

from typing import NamedTuple


class Gate(NamedTuple):
    """`kind` is the thing that the address names; `scope` is what a token needs, whoever made it."""

    kind: str
    scope: str
    own: str
    foreign: str = ""


# A cluster without a sheet of permissions, and a rollout without exports, give nothing to anybody; approving is refused
# to every program, with the reason (A42).
ROUTES: dict[tuple[str, str], Gate] = {
    ("api-clusters", "GET"): Gate("", "read", "1++++++"),
    ("api-clusters", "POST"): Gate("", "admin", "133333+"),
    ("api-eks-drafts", "POST"): Gate("", "admin", "133333+"),
    ("api-cluster", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster", "PATCH"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster", "DELETE"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster-aws", "POST"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster-aws", "DELETE"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster-aws-drafts", "POST"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster-scans", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster-scans", "POST"): Gate("cluster", "scan", "143+3++", "144444+"),
    ("api-cluster-plan", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster-values", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster-kubeconfig", "PUT"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster-identity", "PUT"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-cluster-actions", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster-iam", "GET"): Gate("cluster", "read", "1444444", "1444444"),
    ("api-cluster-labels", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster-labels", "PATCH"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-groups", "GET"): Gate("", "read", "1++++++"),
    ("api-groups", "POST"): Gate("", "admin", "133333+"),
    ("api-group", "GET"): Gate("group", "read", "14+++++", "144444+"),
    ("api-group", "PATCH"): Gate("group", "admin", "133333+", "133333+"),
    ("api-group", "DELETE"): Gate("group", "admin", "133333+", "133333+"),
    ("api-group-clusters", "GET"): Gate("group", "read", "14+++++", "144444+"),
    ("api-group-clusters", "POST"): Gate("group", "admin", "133333+", "133333+"),
    ("api-scan", "GET"): Gate("scan", "read", "14+++++", "144444+"),
    ("api-snapshots", "GET"): Gate("", "read", "1++++++"),
    ("api-snapshot", "GET"): Gate("snapshot", "read", "14+++++", "144444+"),
    ("api-snapshot-nodes", "GET"): Gate("snapshot", "read", "14+++++", "144444+"),
    ("api-findings", "GET"): Gate("", "read", "1++++++"),
    ("api-checks", "GET"): Gate("", "read", "1++++++"),
    ("api-check", "GET"): Gate("crds_served", "read", "1++++++"),
    ("api-conversions", "POST"): Gate("", "read", "1++++++"),
    ("api-iam-evaluations", "POST"): Gate("", "read", "1++++++"),
    ("api-fleet-summary", "GET"): Gate("", "read", "1++++++"),
    ("api-fleet-burndown", "GET"): Gate("", "read", "1++++++"),
    ("api-fleet-views", "GET"): Gate("", "read", "1++++++"),
    ("api-fleet-views", "POST"): Gate("", "admin", "1++++++"),
    ("api-fleet-view", "GET"): Gate("view", "read", "144444+"),
    ("api-fleet-view", "DELETE"): Gate("view", "admin", "144444+"),
    ("api-fleet-scans", "POST"): Gate("", "scan", "133333+"),
    ("api-fleet-scan", "GET"): Gate("fleet_scan", "read", "1++++++"),
    ("api-audit", "GET"): Gate("", "audit", "13333++"),
    ("api-audit-export", "GET"): Gate("", "audit", "13333++"),
    ("api-plans", "POST"): Gate("", "plan", "133+3++"),
    ("api-plan", "GET"): Gate("rollout", "read", "14+++++", "144444+"),
    ("api-plan-ask", "POST"): Gate("rollout", "plan", "143+3++", "144444+"),
    ("api-plan-approve", "POST"): Gate("rollout", "read", "1433333", "1444443"),
    ("api-rollouts", "GET"): Gate("", "read", "1++++++"),
    ("api-rollout", "GET"): Gate("rollout", "read", "14+++++", "144444+"),
    ("api-rollout-start", "POST"): Gate("rollout", "act", "143+3++", "144444+"),
    ("api-rollout-pause", "POST"): Gate("rollout", "act", "143++++", "144444+"),
    ("api-rollout-resume", "POST"): Gate("rollout", "act", "143+3++", "144444+"),
    ("api-rollout-abort", "POST"): Gate("rollout", "act", "143++++", "144444+"),
    ("api-rollout-roll-back", "POST"): Gate("rollout", "plan", "143+3++", "144444+"),
    ("api-rollout-events", "GET"): Gate("rollout", "read", "14+++++", "144444+"),
    ("api-rollout-exports", "GET"): Gate("rollout", "plan", "1434344", "1444444"),
    ("api-policy-default", "GET"): Gate("", "read", "1++++++"),
    ("api-policy-default", "PUT"): Gate("", "admin", "133333+"),
    ("api-cluster-policy", "GET"): Gate("cluster", "read", "14+++++", "144444+"),
    ("api-cluster-policy", "PUT"): Gate("cluster", "admin", "14333++", "144444+"),
    ("api-kill-switch", "GET"): Gate("", "read", "1++++++"),
    ("api-kill-switch", "POST"): Gate("", "act", "133++++"),
    ("api-channels", "GET"): Gate("", "admin", "133333+"),
    ("api-channels", "POST"): Gate("", "admin", "133333+"),
    ("api-channel", "GET"): Gate("channel", "admin", "133333+"),
    ("api-channel", "PATCH"): Gate("channel", "admin", "133333+"),
    ("api-channel", "DELETE"): Gate("channel", "admin", "133333+"),
    ("api-channel-secret", "POST"): Gate("channel", "admin", "133333+"),
    ("api-channel-test", "POST"): Gate("channel", "admin", "133333+"),
    ("api-deliveries", "GET"): Gate("", "admin", "133333+"),
    ("api-delivery", "GET"): Gate("delivery", "admin", "133333+"),
    ("api-delivery-resend", "POST"): Gate("delivery", "admin", "133333+"),
    ("api-waivers", "GET"): Gate("", "read", "1++++++"),
    ("api-waivers", "POST"): Gate("", "admin", "13333++"),
    ("api-waiver", "GET"): Gate("waiver", "read", "14+++++", "144444+"),
    ("api-waiver", "DELETE"): Gate("waiver", "admin", "14333++", "144444+"),
    ("api-snapshot-sarif", "GET"): Gate("snapshot", "read", "14+++++", "144444+"),
    ("api-snapshot-export", "GET"): Gate("snapshot", "read", "14+++++", "144444+"),
    ("api-root", "GET"): Gate("", "read", "1++++++"),
    ("api-me", "GET"): Gate("", "read", "1++++++"),
    ("api-version", "GET"): Gate("", "read", "1++++++"),
    ("api-grants", "GET"): Gate("", "admin", "133333+"),
    ("api-tokens", "GET"): Gate("", "read", "1++++++"),
    ("api-tokens", "POST"): Gate("", "admin", "1++++++"),
    ("api-token", "GET"): Gate("token", "read", "144444+"),
    ("api-token", "DELETE"): Gate("token", "admin", "144444+"),
    ("api-problem", "GET"): Gate("not_found", "read", "1++++++"),
    ("api-schema", "GET"): Gate("", "read", "1++++++"),
    ("api-docs", "GET"): Gate("", "read", "L++++++"),
}
