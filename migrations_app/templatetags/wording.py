"""The words, tones and icons of all pages: one table for each vocabulary, so that a word is changed in one place."""

from migrations_app.readiness.look import Look

STATES: dict[str, Look] = {
    "draft": Look("Being worked out", "accent", "going", "A worker looks at the cluster and works the plan out."),
    "previewed": Look("Preview", "accent", "info", "Worked out and proven; nobody was asked yet, nothing was changed."),
    "awaiting_approval": Look("Waits for approval", "warning", "manual", "Frozen; nothing was changed."),
    "approved": Look("Approved", "pass", "pass", "May be started; nothing was changed yet."),
    "running": Look("Running", "accent", "going", "A worker goes through the steps."),
    "paused": Look("Paused", "warning", "warning", "Nothing is sent until somebody lets it go on."),
    "succeeded": Look("Succeeded", "pass", "done", "Every step is through and verified."),
    "failed": Look("Failed", "blocker", "blocker", "Ended before its last step."),
    "aborted": Look("Aborted", "muted", "cut", "Ended by a person before its last step."),
    "rolled_back": Look("Rolled back", "muted", "history", "What it did was taken back."),
    "rejected": Look("Rejected", "muted", "na", "Nobody will carry it out; nothing was changed."),
    "expired": Look("Expired", "muted", "na", "It was never started; nothing was changed."),
    "rolling_back": Look("Being rolled back", "accent", "going", "Another rollout takes it back."),
    "needs_attention": Look("Needs attention", "unknown", "unknown", "A person has to look and say what it came to."),
}
NO_PLAN = Look("No plan could be made", "warning", "warning", "Nothing was changed; it can be tried again.")
"""For a draft that ended without a plan."""
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
    "noop": Look("Was so already", "accent", "pass"),
    "refused": Look("Refused", "blocker", "blocker"),
    "changed_by_other": Look("Changed by somebody else", "warning", "warning"),
    "done": Look("Done", "pass", "done"),
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
    "pause": "A person asked it to pause.",
    "asked": "A person ended it.",
    "kill_switch": "Everything that changes clusters was stopped.",
    "changed": "An object is not as it was at the preview.",
    "changed_by_other": "Somebody else changed an object while an outcome was unknown.",
    "gate": "The cluster was not calm in time.",
    "not_verified": "The cluster does not show what a step was to bring.",
    "unreachable": "The cluster did not answer.",
    "other_cluster": "Another cluster answers under this name.",
    "strange_plan": "The plan is not the one that was approved.",
    "audit_blocked": "The audit log can not be carried outside.",
    "expired": "It was too old.",
    "withdrawn": "It was withdrawn.",
    "rejected": "Somebody said no.",
    "cluster_changed": "The way to the cluster was changed since it was made.",
    "missing_rights": "karpdash lacks rights on the cluster.",
    "read_only": "A bundle or a sample is only looked at.",
    "break_glass": "Approved by one person alone, in an emergency.",
    "no_approval_asked": "The policy asks nobody about a plan of this risk.",
    "settled": "A person told what it came to.",
}
"""The meaning of a cause's code; the cause's own text is shown beside it."""


VERDICTS: dict[str, Look] = {
    "ready": Look("Ready", "pass", "pass", "Nothing stands in the way of this hop."),
    "ready_with_warnings": Look("Ready, with warnings", "warning", "warning", "No blocker; read the warnings first."),
    "needs_facts": Look("Needs facts", "unknown", "unknown", "A question that can block is not answered yet."),
    "blocked": Look("Blocked", "blocker", "blocker", "At least one blocker fails."),
    "in_progress": Look("In progress", "accent", "going", "The release has landed, the work of the hop goes on."),
    "done": Look("Done", "pass", "done", "Nothing of this hop is left to do."),
    "": Look("No verdict", "muted", "na", "There is no hop to judge."),
}
BUCKETS: dict[str, Look] = {
    "never_scanned": Look("Never scanned", "muted", "never", "waits for its first scan"),
    "unreachable": Look("Unreachable", "blocker", "cut", "did not answer; the last good result is shown"),
    "needs_facts": Look("Needs facts", "unknown", "unknown", "something that can block could not be read"),
    "blocked": Look("Blocked", "blocker", "blocker", "at least one blocker fails at the next hop"),
    "ready_with_warnings": Look("Ready, with warnings", "warning", "warning", "may go on; read the warnings first"),
    "ready": Look("Ready", "pass", "pass", "may take the next hop"),
    "in_progress": Look("In progress", "accent", "going", "the release has landed, older objects are left"),
    "done": Look("Done", "pass", "done", "at the target, nothing left to do"),
    "no_karpenter": Look("No Karpenter", "muted", "na", "nothing to upgrade"),
}
STAGES: dict[str, Look] = {
    "alpha": Look("Alpha", "accent", "", "v1alpha5"),
    "mixed": Look("Mixed", "accent", "", "alpha and beta"),
    "beta": Look("Beta", "accent", "", "v1beta1"),
    "beta_v1": Look("Beta and v1", "accent", "", "both served or stored"),
    "v1": Look("v1", "accent", "", "v1 only"),
    "no_karpenter": Look("No Karpenter", "muted", "na", "not installed"),
    "unknown": Look("Unknown", "unknown", "unknown", "never seen, or unclear"),
    "": Look("Unknown", "unknown", "unknown", "never seen, or unclear"),
}
ROAD: tuple[str, ...] = ("alpha", "mixed", "beta", "beta_v1", "v1")
STATUSES: dict[str, Look] = {
    "pass": Look("Passed", "pass", "pass"),
    "fail": Look("Fails", "blocker", "blocker"),
    "unknown": Look("Unknown", "unknown", "unknown"),
    "manual": Look("Confirm by hand", "unknown", "manual"),
    "waived": Look("Waived", "waived", "waived"),
    "not_applicable": Look("Not applicable", "muted", "na"),
}
SEVERITIES: dict[str, Look] = {
    "blocker": Look("Blocker", "blocker", "blocker", "stops the hop"),
    "warning": Look("Warning", "warning", "warning", "the hop can be taken, with care"),
    "info": Look("Info", "accent", "info", "good to know"),
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
    "kubectl": "Command line",
    "helm": "Helm values",
    "terraform": "Terraform",
    "flux": "Flux",
    "argocd": "Argo CD",
    "iam": "IAM policy",
    "action": "karpdash",
}
SOURCES: dict[str, str] = {
    "kubeconfig": "live, from a kubeconfig",
    "bundle": "uploaded bundle",
    "sample": "sample fleet",
    "in_cluster": "live, in-cluster account",
    "eks": "live, from an EKS cluster's ARN",
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
}
REASONS: dict[str, str] = {
    "forbidden": "Not allowed: the account lacks the right to list it",
    "unauthorized": "Not signed in: the credentials were refused",
    "timeout": "No answer in time",
    "unreachable": "No connection to the API server",
    "not_asked": "Not part of this source",
    "not_served": "The API server does not serve it",
    "too_large": "The answer was larger than the limit",
    "expired": "The list changed faster than it could be read",
    "garbled": "The answer was not what the API promises",
    "server_failed": "The API server failed",
    "address_refused": "The address is not one that karpdash may contact",
    "tls_refused": "The server's certificate was not accepted",
    "tls_untrusted": "The server's certificate is not signed by the registered CA",
    "tls_expired": "The server's certificate has expired",
    "tls_not_yet_valid": "The server's certificate is not valid yet",
    "tls_name": "The server's certificate is for another name",
    "tls_invalid": "The server's certificate is not valid",
    "tls_material": "The registered CA or client certificate cannot be used",
    "tls_not_spoken": "The server does not speak TLS",
    "tls_outdated": "The server speaks only outdated TLS",
    "tls_alert": "The server refuses the client certificate or the TLS version",
    "tls_failed": "The TLS connection failed",
    "bad_kubeconfig": "The kubeconfig can no longer be used",
    "bad_bundle": "The bundle can no longer be read",
    "bad_setting": "A setting of karpdash is wrong",
    "role_unguarded": "The role opens without the external id",
    "role_refused": "The role does not let karpdash in",
    "role_too_narrow": "The role lacks a permission",
    "bad_role": "This is not a role that fits the cluster",
    "wrong_account": "Role and cluster are in different accounts",
    "no_cluster": "EKS has no cluster of that name there",
    "wrong_cluster": "AWS described another cluster",
    "cluster_not_ready": "The cluster is not ready",
    "no_identity": "karpdash has no AWS identity of its own",
    "no_aws_access": "There is no way into the AWS account",
    "other_cluster": "Another cluster answers at this address",
    "scan_crashed": "The scan ended with a fault of karpdash",
    "worker_lost": "The worker ended in the middle of the scan",
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
