"""Words, tones and icons of all pages: one table for each vocabulary, so that each word is defined once."""

from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.texts import text as _

STATES: dict[str, BadgeStyle] = {
    "draft": BadgeStyle(_("Preparing preview"), "accent", "going", _("A worker reads the cluster and makes the plan.")),
    "previewed": BadgeStyle(_("Preview"), "accent", "info", _("Dry run passed. Not yet submitted.")),
    "awaiting_approval": BadgeStyle(
        _("Waiting for approval"), "warning", "manual", _("Plan locked; nothing was changed.")
    ),
    "approved": BadgeStyle(_("Approved"), "pass", "pass", _("Can be started; nothing was changed yet.")),
    "running": BadgeStyle(_("Running"), "accent", "going", _("Executing steps.")),
    "paused": BadgeStyle(_("Paused"), "warning", "warning", _("Paused until resumed.")),
    "succeeded": BadgeStyle(_("Succeeded"), "pass", "done", _("Every step is done and verified.")),
    "failed": BadgeStyle(_("Failed"), "blocker", "blocker", _("Ended before its last step.")),
    "aborted": BadgeStyle(_("Aborted"), "muted", "cut", _("Ended by a person before its last step.")),
    "rolled_back": BadgeStyle(_("Rolled back"), "muted", "history", _("Its changes were undone.")),
    "rejected": BadgeStyle(_("Rejected"), "muted", "na", _("Will not be executed; nothing was changed.")),
    "expired": BadgeStyle(_("Expired"), "muted", "na", _("It was never started; nothing was changed.")),
    "rolling_back": BadgeStyle(_("Rolling back"), "accent", "going", _("Another rollout undoes its changes.")),
    "needs_attention": BadgeStyle(
        _("Needs attention"), "unknown", "unknown", _("Outcome unknown: check the cluster and record the result.")
    ),
}
IMPOSSIBLE = BadgeStyle(_("Not possible"), "muted", "na", _("No plan could be made; nothing was changed."))
STEP_PREVIEW = BadgeStyle(
    _("Shown in an upgrade"), "muted", "na",
    _("It showed the plan of a step, which makes its own when its turn comes; nothing was changed."),
)  # fmt: skip
RISKS: dict[str, BadgeStyle] = {
    "low": BadgeStyle(_("Low risk"), "pass", "pass"),
    "medium": BadgeStyle(_("Medium risk"), "accent", "info"),
    "high": BadgeStyle(_("High risk"), "warning", "warning"),
    "destructive": BadgeStyle(_("Destructive"), "blocker", "blocker"),
}
STANDINGS: dict[str, BadgeStyle] = {
    "todo": BadgeStyle(_("To do"), "muted", "never"),
    "sent": BadgeStyle(_("Sent, no answer yet"), "accent", "going"),
    "unknown": BadgeStyle(_("Outcome unknown"), "unknown", "unknown"),
    "applied": BadgeStyle(_("Applied, not yet verified"), "accent", "going"),
    "noop": BadgeStyle(_("No change needed"), "accent", "pass"),
    "refused": BadgeStyle(_("Refused"), "blocker", "blocker"),
    "changed_by_other": BadgeStyle(_("Changed externally"), "warning", "warning"),
    "done": BadgeStyle(_("Done"), "pass", "done"),
    "skipped": BadgeStyle(_("Left out"), "waived", "waived"),
}
LINE_WORDS: dict[str, str] = {
    "gate": _("Verified"),
    "": _("Sent, no answer yet"),
    "noop": _("No change"),
    "changed_by_other": _("Changed externally"),
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
    "pause": _("Paused on request."),
    "asked": _("Aborted on request."),
    "kill_switch": _("The kill switch stopped all changes."),
    "changed": _("An object changed since the preview."),
    "changed_by_other": _("An object was changed externally while an outcome was unknown."),
    "gate": _("Health gate timed out."),
    "not_verified": _("The cluster does not show the expected result of a step."),
    "recreated": _("Another client created a deleted object again."),
    "unreadable": _("The objects of a changed CRD cannot be read."),
    "stored_otherwise": _("The API server would store other values than the plan sends."),
    "unreachable": _("The cluster did not answer."),
    "release_changed": _("Another Karpenter release runs than at the preview."),
    "other_cluster": _("Cluster identity mismatch."),
    "strange_plan": _("The plan is not the one that was approved."),
    "audit": _("Audit sink unavailable."),
    "audit_blocked": _("Audit sink unavailable."),
    "expired": _("The plan expired."),
    "withdrawn": _("It was withdrawn."),
    "rejected": "Rejected.",
    "cluster_changed": _("The cluster's connection changed since the plan was made."),
    "missing_rights": _("karpdash lacks permissions on the cluster."),
    "read_only": _("Read-only source."),
    "break_glass": _("Break glass: approved by one person."),
    "no_approval_asked": _("The policy requires no approval at this risk."),
    "settled": _("Resolved manually."),
}
"""The meaning of a cause's code; the cause's own text is shown beside it."""
_NEW_PREVIEW = _("Abort it and make a new preview: resumed, it would stop here again.")
_RESUME_WHEN_FIXED = _("Fix what the answer names, then resume.")
AFTER_HALT: dict[str, str] = {
    "pause": _("Resume it, or abort it."),
    "kill_switch": _("Resume it once two administrators have turned the kill switch off."),
    "changed": _NEW_PREVIEW,
    "release_changed": _NEW_PREVIEW,
    "changed_by_other": _("Look at the object, which may be as planned or not; then abort it and make a new preview."),
    "strange_plan": _NEW_PREVIEW,
    "field_conflict": _("Change the field with the manager that owns it; then abort it and make a new preview."),
    "bad_name": _NEW_PREVIEW,
    "contended": _("Find out who keeps writing to the object, stop that, then resume."),
    "overloaded": _("Resume it once the API server has recovered."),
    "not_applied": _RESUME_WHEN_FIXED,
    "refused": _RESUME_WHEN_FIXED,
    "refused_401": _("Renew the credentials of the cluster, then resume."),
    "refused_403": _("Grant the permission, or change the admission policy that refused it; then resume."),
    "refused_422": _NEW_PREVIEW,
    "gate": _("Fix what was not reached, then resume: it waits for it again."),
    "not_verified": _("Find out who changes the object back, such as a webhook or GitOps; stop that, then abort it."),
    "recreated": _("Find out who creates it again, such as GitOps; stop that and delete it, then resume."),
    "unreadable": _("Let the conversion webhook answer, then resume; or roll the rollout back."),
    "unreachable": _("Let the API server answer karpdash again, then resume."),
    "other_cluster": _("Find out which cluster answers at this address, then record the result."),
    "audit": _("Make the audit log writable again, then resume."),
    "audit_blocked": _("Let the audit sink take events again, then resume."),
    "closed": _("Resume it when the freeze or the change window permits it."),
    "right_gone": _("Another person with the permission resumes it."),
    "worker_lost": _("Find out what stops the worker, such as its memory limit; then resume."),
    "release_failed": _("Abort it; then roll back Karpenter's Helm release, or fix it yourself."),
    "release_pending": _("Abort it; then roll back Karpenter's Helm release, or fix it yourself."),
}
"""The one next thing to do with a rollout that stopped for that cause; `refused` stands for every other refusal."""
AFTER_DOUBT: dict[str, str] = {
    "strange_plan": _("Record the result as aborted; then make a new preview."),
    "refused_401": _("Renew the credentials of the cluster; then check the cluster and record the result."),
    "refused_403": _("Grant the permission; then check the cluster and record the result."),
    "unreachable": _("Let the API server answer karpdash again; then check the cluster and record the result."),
}
"""The same where the outcome of a request is not known: a person records the result first, and resumes after that."""


VERDICTS: dict[str, BadgeStyle] = {
    "ready": BadgeStyle(_("Ready"), "pass", "pass", _("Nothing blocks this upgrade.")),
    "ready_with_warnings": BadgeStyle(
        _("Ready, with warnings"), "warning", "warning", _("No blocker; review the warnings first.")
    ),
    "later": BadgeStyle(_("Later"), "muted", "na", _("Only the earlier upgrades are left before it.")),
    "needs_facts": BadgeStyle(
        _("Incomplete data"), "unknown", "unknown", _("A possible blocker could not be checked.")
    ),
    "blocked": BadgeStyle(_("Blocked"), "blocker", "blocker", _("At least one blocker fails.")),
    "in_progress": BadgeStyle(_("In progress"), "accent", "going", _("Upgraded; migration still in progress.")),
    "done": BadgeStyle(_("Done"), "pass", "done", _("This upgrade is complete.")),
    "": BadgeStyle(_("No verdict"), "muted", "na", _("There is no upgrade to check.")),
}
BUCKETS: dict[str, BadgeStyle] = {
    "never_scanned": BadgeStyle(_("Never scanned"), "muted", "never", _("waiting for its first scan")),
    "unreachable": BadgeStyle(
        _("Unreachable"), "blocker", "cut", _("did not answer; the last good result is shown, if there is one")
    ),
    "needs_facts": BadgeStyle(_("Incomplete data"), "unknown", "unknown", _("a possible blocker could not be checked")),
    "blocked": BadgeStyle(_("Blocked"), "blocker", "blocker", _("blocked for the next upgrade")),
    "ready_with_warnings": BadgeStyle(
        _("Ready, with warnings"), "warning", "warning", _("can be upgraded; review warnings first")
    ),
    "ready": BadgeStyle(_("Ready"), "pass", "pass", _("can be upgraded now")),
    "in_progress": BadgeStyle(_("In progress"), "accent", "going", _("upgraded; migration still in progress")),
    "done": BadgeStyle(_("Done"), "pass", "done", _("on target version")),
    "no_karpenter": BadgeStyle(_("No Karpenter"), "muted", "na", _("nothing to upgrade")),
}
STAGES: dict[str, BadgeStyle] = {
    "alpha": BadgeStyle(_("Alpha"), "accent", "", "v1alpha5"),
    "mixed": BadgeStyle(_("Migrating to v1beta1"), "accent", "", _("v1alpha5 and v1beta1")),
    "beta": BadgeStyle(_("Beta"), "accent", "", "v1beta1"),
    "beta_v1": BadgeStyle(_("v1beta1 + v1"), "accent", "", _("both API versions are served or stored")),
    "v1": BadgeStyle("v1", "accent", "", _("v1 only")),
    "no_karpenter": BadgeStyle(_("No Karpenter"), "muted", "na", _("not installed")),
    "unknown": BadgeStyle(_("Unknown"), "unknown", "unknown", _("not scanned or undetermined")),
    "": BadgeStyle(_("Unknown"), "unknown", "unknown", _("not scanned or undetermined")),
}
ROAD: tuple[str, ...] = ("alpha", "mixed", "beta", "beta_v1", "v1")
STATUSES: dict[str, BadgeStyle] = {
    "pass": BadgeStyle(_("Passed"), "pass", "pass"),
    "fail": BadgeStyle(_("Fails"), "blocker", "blocker"),
    "unknown": BadgeStyle(_("Unknown"), "unknown", "unknown"),
    "manual": BadgeStyle(_("Verify manually"), "unknown", "manual"),
    "waived": BadgeStyle(_("Waived"), "waived", "waived"),
    "not_applicable": BadgeStyle(_("Not applicable"), "muted", "na"),
}
SEVERITIES: dict[str, BadgeStyle] = {
    "blocker": BadgeStyle(_("Blocker"), "blocker", "blocker", _("blocks the upgrade")),
    "warning": BadgeStyle(_("Warning"), "warning", "warning", _("does not block the upgrade")),
    "info": BadgeStyle(_("Info"), "accent", "info", _("for information")),
}
PHASES: dict[str, str] = {
    "preflight": _("Preflight"),
    "iam": "IAM",
    "crds": "CRDs",
    "controller": _("Controller"),
    "resources": _("Resources"),
    "workloads": _("Workloads"),
    "rollout": _("Rollout"),
    "cleanup": "Clean-up",
}
OWNERS: dict[str, str] = {
    "karpenter_alpha": _("Karpenter, alpha"),
    "karpenter_beta": _("Karpenter, beta"),
    "karpenter_v1": _("Karpenter, v1"),
    "managed_node_group": _("Managed node group"),
    "fargate": _("Fargate"),
    "auto_mode": _("EKS Auto Mode"),
    "hybrid": _("Hybrid node"),
    "self_managed": "Self-managed",
    "unknown": _("Unknown owner"),
}
REMEDIES: dict[str, str] = {
    "kubectl": "kubectl",
    "helm": "Helm",
    "terraform": _("Terraform"),
    "flux": _("Flux"),
    "argocd": _("Argo CD"),
    "iam": _("IAM policy"),
    "action": "karpdash",
}
IAM_FORMS: tuple[str, ...] = ("AWS CLI", "JSON", "CloudFormation")
"""The formats of a missing policy, in the order of its remedies."""
TOOLS: dict[str, str] = {
    **{how: REMEDIES[how] for how in ("kubectl", "helm", "terraform", "flux", "argocd")},
    **dict(zip(("aws-cli", "json", "cloudformation"), IAM_FORMS, strict=True)),
}
"""The tools of `readiness.outputs.preferred_tool`."""
SOURCES: dict[str, str] = {
    "kubeconfig": "kubeconfig",
    "bundle": _("uploaded bundle"),
    "sample": _("sample fleet"),
    "twin": _("sample cluster to try rollouts on"),
    "in_cluster": _("in-cluster account"),
    "eks": _("EKS cluster ARN"),
    "agent": _("agent in the cluster"),
}
PARTS: dict[str, str] = {
    "documents": _("Documents of the bundle"),
    "version": _("API server version"),
    "identity": _("Identity of the cluster"),
    "discovery": _("Served API groups"),
    "crds": _("Karpenter CRDs"),
    "provisioners": _("Provisioners"),
    "awsnodetemplates": "AWSNodeTemplates",
    "machines": _("Machines"),
    "nodepools": "NodePools",
    "ec2nodeclasses": "EC2NodeClasses",
    "nodeclaims": "NodeClaims",
    "nodes": _("Nodes"),
    "pods": _("Pods"),
    "deployments": _("Deployments"),
    "statefulsets": "StatefulSets",
    "daemonsets": "DaemonSets",
    "jobs": _("Jobs"),
    "cronjobs": "CronJobs",
    "pdbs": "PodDisruptionBudgets",
    "controller": _("Karpenter Deployment"),
    "controller_pods": _("Karpenter pods"),
    "controller_accounts": _("Karpenter ServiceAccount"),
    "services": _("Services of webhooks"),
    "endpoints": _("Endpoints of webhooks"),
    "settings": "karpenter-global-settings",
    "aws_auth": _("aws-auth ConfigMap"),
    "cilium_config": _("cilium-config ConfigMap"),
    "webhooks": _("Admission webhooks"),
    "helm_releases": _("Helm releases"),
    "deliveries": _("Flux and Argo CD objects"),
    "prometheus_rules": _("Prometheus rules"),
    "dashboards": _("Grafana dashboards"),
    "other_queries": _("VMRules and scalers of KEDA"),
    "controller_rbac": _("Karpenter ClusterRoles"),
    "network_policies": _("NetworkPolicies around Karpenter"),
    "argo_rollouts": _("Rollouts of Argo"),
    "namespaces": _("Namespaces of Karpenter"),
    "volumes": "PersistentVolumes",
    "monitors": _("ServiceMonitors and PodMonitors"),
    "policies": _("Policies of Kyverno and Gatekeeper"),
    "admission_policies": _("Admission policies of Kubernetes"),
    "sources": _("Sources of Flux"),
    "aws.identity": _("AWS identity of karpdash"),
    "aws.cluster": _("EKS cluster"),
    "aws.controller_roles": _("IAM roles of the controller"),
    "aws.oidc_provider": _("IAM OIDC provider"),
    "aws.pod_identity_agent": _("EKS Pod Identity agent"),
    "aws.node_roles": _("IAM roles of nodes"),
    "aws.instance_profiles": _("Instance profiles"),
    "aws.instances": _("EC2 instances"),
    "aws.aws_auth": _("Rows of the aws-auth ConfigMap"),
    "aws.queue": _("Interruption queue"),
    "aws.quotas": _("AWS quotas"),
    "aws.subnets": _("Subnets"),
    "aws.offerings": _("Offered instance types"),
    "aws.reservations": _("Capacity reservations"),
    "aws.spot_role": _("Service-linked role for spot"),
    "aws.simulation": _("SimulatePrincipalPolicy"),
}
REASONS: dict[str, str] = {
    "forbidden": _("Forbidden: missing list permission"),
    "unauthorized": _("Credentials rejected (401)"),
    "timeout": _("No answer in time"),
    "unreachable": _("No connection to the API server"),
    "cut": _("The connection to the API server broke off"),
    "agent_lost": _("The cluster's agent is not connected"),
    "agent_revoked": _("The token of the cluster's agent is revoked"),
    "agent_busy": _("The cluster's agent is busy with other requests"),
    "agent_forged": _("What the broker holds of the cluster's agent was not written by karpdash"),
    "no_broker": _("The broker between karpdash and the cluster's agent does not answer"),
    "not_asked": _("Not part of this source"),
    "not_served": _("The API server does not serve it"),
    "too_large": _("The answer was larger than the limit"),
    "expired": _("List expired while paging (410)"),
    "garbled": _("Unexpected API response"),
    "server_failed": _("The API server failed"),
    "stored_version_gone": _("Stored in a version that the CRD no longer has"),
    "address_refused": _("The address is not one that karpdash may contact"),
    "tls_refused": _("The server's certificate was not accepted"),
    "bad_kubeconfig": _("The kubeconfig can no longer be used"),
    "bad_bundle": _("The bundle can no longer be read"),
    "bad_setting": _("A setting of karpdash is wrong"),
    "role_unguarded": _("Role can be assumed without the external ID"),
    "role_refused": _("AssumeRole denied"),
    "role_too_narrow": _("The role lacks a permission"),
    "bad_role": _("This is not a role that fits the cluster"),
    "wrong_account": _("Role and cluster are in different accounts"),
    "no_cluster": _("EKS has no cluster of that name there"),
    "wrong_cluster": _("AWS described another cluster"),
    "cluster_not_ready": _("The cluster is not ready"),
    "no_identity": _("karpdash has no AWS identity of its own"),
    "no_aws_access": _("No access to the AWS account"),
    "other_cluster": _("Another cluster answers at this address"),
    "scan_crashed": _("Scan crashed (karpdash bug)"),
    "worker_lost": _("Worker was lost during the scan"),
}
ANOMALIES: dict[str, str] = {
    "claim-without-node": _("claim without node"),
    "node-without-claim": _("node without claim"),
    "both-labels": _("labels of two generations"),
    "two-owners": _("two owners"),
    "pool-gone": _("NodePool deleted"),
    "finalizer-missing": _("no termination finalizer"),
    "machine-without-hash": _("no hash annotation"),
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
"""The first letters of an environment's name, and its colour."""


def environment_tone(name: str) -> str:
    """Returns the tone of an environment; muted for an unknown name."""
    lowered = name.lower()
    return next((tone for start, tone in ENVIRONMENTS if lowered.startswith(start)), "muted")


def code_text(code: str) -> str:
    """Returns a code as words, for codes without a row in a table."""
    return code.replace("_", " ").replace("-", " ")
