"""Addresses below /api/v1/. Each also answers with a final slash; a route without a declared need stops the start."""

from django.urls import URLPattern, path, re_path

from migrations_app.api.accounts import Grants, Token, Tokens
from migrations_app.api.audit import Audit, AuditExport
from migrations_app.api.checks import Check, Checks
from migrations_app.api.cluster_access import ClusterAws, ClusterDrafts, ClusterKubeconfig, EksDrafts
from migrations_app.api.clusters import Cluster, Clusters
from migrations_app.api.conversions import Conversions
from migrations_app.api.fleet import BurndownOf, FleetScan, FleetScans, SavedView, SavedViews, Summary
from migrations_app.api.framework import schema
from migrations_app.api.framework.permissions import refuse_undeclared
from migrations_app.api.framework.schema import Docs, NoSuchPage, ProblemMeaning, Schema
from migrations_app.api.framework.views import Endpoint
from migrations_app.api.groups import ClusterLabels, Group, GroupMembers, Groups
from migrations_app.api.iam import ClusterIam, Evaluations
from migrations_app.api.notifications import (
    Channel,
    Channels,
    ChannelSecret,
    ChannelTest,
    Deliveries,
    Delivery,
    DeliveryResend,
)
from migrations_app.api.plans import Plan, PlanApprove, PlanAsk, Plans
from migrations_app.api.policies import ClusterPolicy, DefaultPolicy, KillSwitch
from migrations_app.api.rollouts import (
    Rollout,
    RolloutAbort,
    RolloutEvents,
    RolloutExports,
    RolloutPause,
    RolloutResume,
    RolloutRollBack,
    Rollouts,
    RolloutStart,
)
from migrations_app.api.runbooks import ClusterActions, ClusterPlan
from migrations_app.api.scans import ClusterScans, Findings, Scan, Snapshot, SnapshotNodes, Snapshots, SnapshotSarif
from migrations_app.api.waivers import Waiver, Waivers


def _both(route: str, view: type[Endpoint], *, name: str) -> list[URLPattern]:
    return [path(route, view.as_view(), name=name), path(f"{route}/", view.as_view(), name=f"{name}-slash")]


SIGN_IN = (schema.BearerScheme, schema.SessionScheme)
"""Named here, so that the schema knows them."""
urlpatterns: list[URLPattern] = [
    *_both("clusters", Clusters, name="api-clusters"),
    *_both("clusters/eks-drafts", EksDrafts, name="api-eks-drafts"),
    *_both("clusters/<uuid:id>", Cluster, name="api-cluster"),
    *_both("clusters/<uuid:id>/aws", ClusterAws, name="api-cluster-aws"),
    *_both("clusters/<uuid:id>/aws/drafts", ClusterDrafts, name="api-cluster-aws-drafts"),
    *_both("clusters/<uuid:id>/scans", ClusterScans, name="api-cluster-scans"),
    *_both("clusters/<uuid:id>/plan", ClusterPlan, name="api-cluster-plan"),
    *_both("clusters/<uuid:id>/kubeconfig", ClusterKubeconfig, name="api-cluster-kubeconfig"),
    *_both("clusters/<uuid:id>/actions", ClusterActions, name="api-cluster-actions"),
    *_both("clusters/<uuid:id>/iam", ClusterIam, name="api-cluster-iam"),
    *_both("clusters/<uuid:id>/labels", ClusterLabels, name="api-cluster-labels"),
    *_both("groups", Groups, name="api-groups"),
    *_both("groups/<uuid:id>", Group, name="api-group"),
    *_both("groups/<uuid:id>/clusters", GroupMembers, name="api-group-clusters"),
    *_both("scans/<uuid:id>", Scan, name="api-scan"),
    *_both("snapshots", Snapshots, name="api-snapshots"),
    *_both("snapshots/<uuid:id>", Snapshot, name="api-snapshot"),
    *_both("snapshots/<uuid:id>/nodes", SnapshotNodes, name="api-snapshot-nodes"),
    *_both("findings", Findings, name="api-findings"),
    *_both("checks", Checks, name="api-checks"),
    *_both("checks/<slug:id>", Check, name="api-check"),
    *_both("conversions", Conversions, name="api-conversions"),
    *_both("iam/evaluations", Evaluations, name="api-iam-evaluations"),
    *_both("fleet/summary", Summary, name="api-fleet-summary"),
    *_both("fleet/burndown", BurndownOf, name="api-fleet-burndown"),
    *_both("fleet/views", SavedViews, name="api-fleet-views"),
    *_both("fleet/views/<uuid:id>", SavedView, name="api-fleet-view"),
    *_both("fleet/scans", FleetScans, name="api-fleet-scans"),
    *_both("fleet/scans/<uuid:id>", FleetScan, name="api-fleet-scan"),
    *_both("audit", Audit, name="api-audit"),
    *_both("audit/export", AuditExport, name="api-audit-export"),
    *_both("plans", Plans, name="api-plans"),
    *_both("plans/<uuid:id>", Plan, name="api-plan"),
    *_both("plans/<uuid:id>/ask", PlanAsk, name="api-plan-ask"),
    *_both("plans/<uuid:id>/approve", PlanApprove, name="api-plan-approve"),
    *_both("rollouts", Rollouts, name="api-rollouts"),
    *_both("rollouts/<uuid:id>", Rollout, name="api-rollout"),
    *_both("rollouts/<uuid:id>/start", RolloutStart, name="api-rollout-start"),
    *_both("rollouts/<uuid:id>/pause", RolloutPause, name="api-rollout-pause"),
    *_both("rollouts/<uuid:id>/resume", RolloutResume, name="api-rollout-resume"),
    *_both("rollouts/<uuid:id>/abort", RolloutAbort, name="api-rollout-abort"),
    *_both("rollouts/<uuid:id>/roll_back", RolloutRollBack, name="api-rollout-roll-back"),
    *_both("rollouts/<uuid:id>/events", RolloutEvents, name="api-rollout-events"),
    *_both("rollouts/<uuid:id>/exports", RolloutExports, name="api-rollout-exports"),
    *_both("policies/default", DefaultPolicy, name="api-policy-default"),
    *_both("clusters/<uuid:id>/policy", ClusterPolicy, name="api-cluster-policy"),
    *_both("kill-switch", KillSwitch, name="api-kill-switch"),
    *_both("channels", Channels, name="api-channels"),
    *_both("channels/<uuid:id>", Channel, name="api-channel"),
    *_both("channels/<uuid:id>/secret", ChannelSecret, name="api-channel-secret"),
    *_both("channels/<uuid:id>/test", ChannelTest, name="api-channel-test"),
    *_both("deliveries", Deliveries, name="api-deliveries"),
    *_both("deliveries/<uuid:id>", Delivery, name="api-delivery"),
    *_both("deliveries/<uuid:id>/resend", DeliveryResend, name="api-delivery-resend"),
    *_both("waivers", Waivers, name="api-waivers"),
    *_both("waivers/<uuid:id>", Waiver, name="api-waiver"),
    *_both("snapshots/<uuid:id>/sarif", SnapshotSarif, name="api-snapshot-sarif"),
    *_both("grants", Grants, name="api-grants"),
    *_both("tokens", Tokens, name="api-tokens"),
    *_both("tokens/<uuid:id>", Token, name="api-token"),
    *_both("problems/<slug:code>", ProblemMeaning, name="api-problem"),
    path("schema/", Schema.as_view(), name="api-schema"),
    path("docs/", Docs.as_view(), name="api-docs"),
    re_path(r"^(?P<rest>[\s\S]*)$", NoSuchPage.as_view(), name="api-nothing"),
]
refuse_undeclared(urlpatterns)
