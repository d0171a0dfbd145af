"""The words, tones and icons of all pages: one table for each vocabulary, so that a word is changed in one place."""

from migrations_app.readiness.look import Look

STATES: dict[str, Look] = {
    "draft": Look("Preparing preview", "accent", "going", "A worker reads the cluster and makes the plan."),
    "previewed": Look("Preview", "accent", "info", "Dry run passed. Not yet submitted."),
    "awaiting_approval": Look("Waiting for approval", "warning", "manual", "Plan locked; nothing was changed."),
    "approved": Look("Approved", "pass", "pass", "Can be started; nothing was changed yet."),
    "running": Look("Running", "accent", "going", "Executing steps."),
    "paused": Look("Paused", "warning", "warning", "Paused until resumed."),
    "succeeded": Look("Succeeded", "pass", "done", "Every step is done and verified."),
    "failed": Look("Failed", "blocker", "blocker", "Ended before its last step."),
    "aborted": Look("Aborted", "muted", "cut", "Ended by a person before its last step."),
    "rolled_back": Look("Rolled back", "muted", "history", "Its changes were undone."),
    "rejected": Look("Rejected", "muted", "na", "Will not be executed; nothing was changed."),
    "expired": Look("Expired", "muted", "na", "It was never started; nothing was changed."),
    "rolling_back": Look("Rolling back", "accent", "going", "Another rollout undoes its changes."),
    "needs_attention": Look(
        "Needs attention", "unknown", "unknown", "Outcome unknown: check the cluster and record the result."
    ),
}
IMPOSSIBLE = Look("Not possible", "muted", "na", "No plan could be made; nothing was changed.")
RISKS: dict[str, Look] = {
    "low": Look("Low risk", "pass", "pass"),
    "medium": Look("Medium risk", "accent", "info"),
    "high": Look("High risk", "warning", "warning"),
    "destructive": Look("Destructive", "blocker", "blocker"),
}
STANDINGS: dict[str, Look] = {
    "todo": Look("To do", "muted", "never"),
    "sent": Look("Sent, no answer yet", "accent", "going"),
    "unknown": Look("Outcome unknown", "unknown", "unknown"),
    "applied": Look("Applied, not yet verified", "accent", "going"),
    "noop": Look("No change needed", "accent", "pass"),
    "refused": Look("Refused", "blocker", "blocker"),
    "changed_by_other": Look("Changed externally", "warning", "warning"),
    "done": Look("Done", "pass", "done"),
    "skipped": Look("Left out", "waived", "waived"),
}
OUTCOME_TONES: dict[str, str] = {
    "": "accent",
    "applied": "pass",
    "unknown": "unknown",
    "refused": "blocker",
    "changed_by_other": "blocker",
}
"""The tone of a request's outcome; an empty outcome has no answer yet."""
CAUSES: dict[str, str] = {
    "pause": "Paused on request.",
    "asked": "Aborted on request.",
    "kill_switch": "The kill switch stopped all changes.",
    "changed": "An object changed since the preview.",
    "changed_by_other": "An object was changed externally while an outcome was unknown.",
    "gate": "Health gate timed out.",
    "not_verified": "The cluster does not show the expected result of a step.",
    "unreachable": "The cluster did not answer.",
    "other_cluster": "Cluster identity mismatch.",
    "strange_plan": "The plan is not the one that was approved.",
    "audit_blocked": "Audit sink unavailable.",
    "expired": "The plan expired.",
    "withdrawn": "It was withdrawn.",
    "rejected": "Rejected.",
    "cluster_changed": "The cluster's connection changed since the plan was made.",
    "missing_rights": "karpdash lacks permissions on the cluster.",
    "read_only": "Read-only source.",
    "break_glass": "Break glass: approved by one person.",
    "no_approval_asked": "The policy asks for no approval of this risk.",
    "settled": "Resolved manually.",
}
"""The meaning of a cause's code; the cause's own text is shown beside it."""


VERDICTS: dict[str, Look] = {
    "ready": Look("Ready", "pass", "pass", "Nothing blocks this upgrade."),
    "ready_with_warnings": Look("Ready, with warnings", "warning", "warning", "No blocker; review the warnings first."),
    "later": Look("Later", "muted", "na", "Nothing stands in its way but the upgrades before it."),
    "needs_facts": Look("Incomplete data", "unknown", "unknown", "A possible blocker could not be checked."),
    "blocked": Look("Blocked", "blocker", "blocker", "At least one blocker fails."),
    "in_progress": Look("In progress", "accent", "going", "Upgraded; migration still in progress."),
    "done": Look("Done", "pass", "done", "This upgrade is complete."),
    "": Look("No verdict", "muted", "na", "There is no upgrade to check."),
}
BUCKETS: dict[str, Look] = {
    "never_scanned": Look("Never scanned", "muted", "never", "waiting for its first scan"),
    "unreachable": Look("Unreachable", "blocker", "cut", "did not answer; showing the last good result"),
    "needs_facts": Look("Incomplete data", "unknown", "unknown", "a possible blocker could not be checked"),
    "blocked": Look("Blocked", "blocker", "blocker", "blocked for the next upgrade"),
    "ready_with_warnings": Look("Ready, with warnings", "warning", "warning", "can be upgraded; review warnings first"),
    "ready": Look("Ready", "pass", "pass", "can be upgraded now"),
    "in_progress": Look("In progress", "accent", "going", "upgraded; migration still in progress"),
    "done": Look("Done", "pass", "done", "on target version"),
    "no_karpenter": Look("No Karpenter", "muted", "na", "nothing to upgrade"),
}
STAGES: dict[str, Look] = {
    "alpha": Look("Alpha", "accent", "", "v1alpha5"),
    "mixed": Look("Migrating to v1beta1", "accent", "", "v1alpha5 and v1beta1"),
    "beta": Look("Beta", "accent", "", "v1beta1"),
    "beta_v1": Look("v1beta1 + v1", "accent", "", "both served or stored"),
    "v1": Look("v1", "accent", "", "v1 only"),
    "no_karpenter": Look("No Karpenter", "muted", "na", "not installed"),
    "unknown": Look("Unknown", "unknown", "unknown", "not scanned or undetermined"),
    "": Look("Unknown", "unknown", "unknown", "not scanned or undetermined"),
}
ROAD: tuple[str, ...] = ("alpha", "mixed", "beta", "beta_v1", "v1")
STATUSES: dict[str, Look] = {
    "pass": Look("Passed", "pass", "pass"),
    "fail": Look("Fails", "blocker", "blocker"),
    "unknown": Look("Unknown", "unknown", "unknown"),
    "manual": Look("Verify manually", "unknown", "manual"),
    "waived": Look("Waived", "waived", "waived"),
    "not_applicable": Look("Not applicable", "muted", "na"),
}
SEVERITIES: dict[str, Look] = {
    "blocker": Look("Blocker", "blocker", "blocker", "blocks the upgrade"),
    "warning": Look("Warning", "warning", "warning", "does not block the upgrade"),
    "info": Look("Info", "accent", "info", "for information"),
}
PHASES: dict[str, str] = {
    "preflight": "Preflight",
    "iam": "IAM",
    "crds": "CRDs",
    "controller": "Controller",
    "resources": "Resources",
    "workloads": "Workloads",
    "rollout": "Rollout",
    "cleanup": "Clean-up",
}
OWNERS: dict[str, str] = {
    "karpenter_alpha": "Karpenter, alpha",
    "karpenter_beta": "Karpenter, beta",
    "karpenter_v1": "Karpenter, v1",
    "managed_node_group": "Managed node group",
    "fargate": "Fargate",
    "auto_mode": "EKS Auto Mode",
    "hybrid": "Hybrid node",
    "self_managed": "Self-managed",
    "unknown": "Unknown owner",
}
REMEDIES: dict[str, str] = {
    "kubectl": "kubectl",
    "helm": "Helm values",
    "terraform": "Terraform",
    "flux": "Flux",
    "argocd": "Argo CD",
    "iam": "IAM policy",
    "action": "karpdash",
}
IAM_FORMS: tuple[str, ...] = ("AWS CLI", "JSON", "CloudFormation")
"""The forms in which a missing policy is given, in the order of its remedies."""
SOURCES: dict[str, str] = {
    "kubeconfig": "kubeconfig",
    "bundle": "uploaded bundle",
    "sample": "sample fleet",
    "twin": "sample cluster to try rollouts on",
    "in_cluster": "in-cluster account",
    "eks": "EKS cluster ARN",
}
PARTS: dict[str, str] = {
    "documents": "Documents of the bundle",
    "version": "API server version",
    "identity": "Identity of the cluster",
    "discovery": "Served API groups",
    "crds": "Karpenter CRDs",
    "provisioners": "Provisioners",
    "awsnodetemplates": "AWSNodeTemplates",
    "machines": "Machines",
    "nodepools": "NodePools",
    "ec2nodeclasses": "EC2NodeClasses",
    "nodeclaims": "NodeClaims",
    "nodes": "Nodes",
    "pods": "Pods",
    "deployments": "Deployments",
    "statefulsets": "StatefulSets",
    "daemonsets": "DaemonSets",
    "jobs": "Jobs",
    "cronjobs": "CronJobs",
    "pdbs": "PodDisruptionBudgets",
    "controller": "Karpenter Deployment",
    "controller_pods": "Karpenter pods",
    "controller_accounts": "Karpenter ServiceAccount",
    "services": "Services of webhooks",
    "endpoints": "Endpoints of webhooks",
    "settings": "karpenter-global-settings",
    "aws_auth": "aws-auth ConfigMap",
    "webhooks": "Admission webhooks",
    "helm_releases": "Helm releases",
    "deliveries": "Flux and Argo CD objects",
    "prometheus_rules": "Prometheus rules",
    "dashboards": "Grafana dashboards",
    "controller_rbac": "Karpenter ClusterRoles",
    "network_policies": "NetworkPolicies around Karpenter",
    "argo_rollouts": "Rollouts of Argo",
    "namespaces": "Namespaces of Karpenter",
    "volumes": "PersistentVolumes",
    "monitors": "ServiceMonitors and PodMonitors",
    "policies": "Policies of Kyverno and Gatekeeper",
    "sources": "Sources of Flux",
}
REASONS: dict[str, str] = {
    "forbidden": "Forbidden: missing list permission",
    "unauthorized": "Credentials rejected (401)",
    "timeout": "No answer in time",
    "unreachable": "No connection to the API server",
    "not_asked": "Not part of this source",
    "not_served": "The API server does not serve it",
    "too_large": "The answer was larger than the limit",
    "expired": "List expired while paging (410)",
    "garbled": "Unexpected API response",
    "server_failed": "The API server failed",
    "address_refused": "The address is not one that karpdash may contact",
    "tls_refused": "The server's certificate was not accepted",
    "bad_kubeconfig": "The kubeconfig can no longer be used",
    "bad_bundle": "The bundle can no longer be read",
    "bad_setting": "A setting of karpdash is wrong",
    "role_unguarded": "Role can be assumed without the external ID",
    "role_refused": "AssumeRole denied",
    "role_too_narrow": "The role lacks a permission",
    "bad_role": "This is not a role that fits the cluster",
    "wrong_account": "Role and cluster are in different accounts",
    "no_cluster": "EKS has no cluster of that name there",
    "wrong_cluster": "AWS described another cluster",
    "cluster_not_ready": "The cluster is not ready",
    "no_identity": "karpdash has no AWS identity of its own",
    "no_aws_access": "No access to the AWS account",
    "other_cluster": "Another cluster answers at this address",
    "scan_crashed": "Scan crashed (karpdash bug)",
    "worker_lost": "Worker was lost during the scan",
}
ANOMALIES: dict[str, str] = {
    "claim-without-node": "claim without node",
    "node-without-claim": "node without claim",
    "both-labels": "labels of two generations",
    "two-owners": "two owners",
    "pool-gone": "pool is gone",
    "finalizer-missing": "no termination finalizer",
    "machine-without-hash": "no hash annotation",
}
ENVIRONMENTS: tuple[tuple[str, str], ...] = (
    ("prod", "blocker"),
    ("live", "blocker"),
    ("stag", "warning"),
    ("pre", "warning"),
    ("test", "accent"),
    ("dev", "pass"),
    ("sandbox", "pass"),
)
"""The beginning of an environment's name, and its colour."""


def environment_tone(name: str) -> str:
    """The tone of an environment; muted for an unknown name."""
    lowered = name.lower()
    return next((tone for start, tone in ENVIRONMENTS if lowered.startswith(start)), "muted")


def spoken(code: str) -> str:
    """A code as words, for codes without a row in a table."""
    return code.replace("_", " ").replace("-", " ")
