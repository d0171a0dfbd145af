"""Addresses below /api/v1/. Each also answers with a final slash; a route without a declared need stops the start."""

from django.urls import URLPattern, path, re_path

from migrations_app.api.about import ApiRootView, MeView, VersionView
from migrations_app.api.accounts.people import PeopleView, PersonView, TeamsView, TeamView
from migrations_app.api.accounts.provisioning import ProvisioningTokensView, ProvisioningTokenView
from migrations_app.api.accounts.services import ServicesView, ServiceTokensView, ServiceTokenView, ServiceView
from migrations_app.api.accounts.tokens import GrantsView, GrantView, TokensView, TokenView
from migrations_app.api.audit import AuditExportView, AuditView
from migrations_app.api.campaigns.views import (
    CampaignAbortView,
    CampaignApproveView,
    CampaignAskView,
    CampaignClustersView,
    CampaignLeaveOutView,
    CampaignOpenWaveView,
    CampaignPauseView,
    CampaignResumeView,
    CampaignStartView,
    CampaignsView,
    CampaignTryAgainView,
    CampaignView,
)
from migrations_app.api.campaigns.waiting import CampaignDecideView, CampaignWaitingView
from migrations_app.api.checks import ChecksView, CheckView
from migrations_app.api.clusters.access import (
    ClusterAwsView,
    ClusterDraftsView,
    ClusterIdentityView,
    ClusterKubeconfigView,
    EksDraftsView,
)
from migrations_app.api.clusters.agent import ClusterAgentView
from migrations_app.api.clusters.batches import ClusterBatchLabelsView, ClusterBatchRemovalView, ClusterBatchView
from migrations_app.api.clusters.joining import ClusterJoiningView
from migrations_app.api.clusters.labels import ClusterLabelsView
from migrations_app.api.clusters.views import ClustersView, ClusterView
from migrations_app.api.conversions import ConversionsView
from migrations_app.api.feed import FeedView
from migrations_app.api.fleet import (
    BurndownOfView,
    FleetScansView,
    FleetScanView,
    SavedViewDetailView,
    SavedViewsView,
    SummaryView,
)
from migrations_app.api.framework import schema
from migrations_app.api.framework.permissions import refuse_undeclared
from migrations_app.api.framework.schema import DocsView, NoSuchPageView, ProblemMeaningView, SchemaView
from migrations_app.api.framework.views import Endpoint
from migrations_app.api.groups import GroupMembersView, GroupsView, GroupView
from migrations_app.api.iam import ClusterIamView, EvaluationsView
from migrations_app.api.journeys.views import (
    JourneyAbortView,
    JourneyAcceptView,
    JourneyApproveView,
    JourneyAskView,
    JourneyHoldView,
    JourneyPauseView,
    JourneyResumeView,
    JourneyRetryView,
    JourneySkipView,
    JourneyStartView,
    JourneysView,
    JourneyTakeBackView,
    JourneyTickView,
    JourneyView,
    JourneyWayBackView,
)
from migrations_app.api.notifications import (
    ChannelSecretView,
    ChannelsView,
    ChannelTestView,
    ChannelView,
    DeliveriesView,
    DeliveryResendView,
    DeliveryView,
)
from migrations_app.api.organizations import (
    OrganizationClustersView,
    OrganizationLookView,
    OrganizationsView,
    OrganizationView,
)
from migrations_app.api.plans import PlanApproveView, PlanAskView, PlansView, PlanView
from migrations_app.api.policies import ClusterPolicyView, DefaultPolicyView, KillSwitchView, PoliciesView
from migrations_app.api.pull_requests.views import (
    ClusterPullRequestsView,
    PullRequestOpenView,
    PullRequestRefreshView,
    PullRequestView,
    RepositoriesView,
)
from migrations_app.api.rehearsals.views import PlanRehearsalsView
from migrations_app.api.rollouts import (
    RolloutAbortView,
    RolloutEventsView,
    RolloutExportsView,
    RolloutPauseView,
    RolloutResumeView,
    RolloutRollBackView,
    RolloutSkipNodeView,
    RolloutStartView,
    RolloutsView,
    RolloutView,
)
from migrations_app.api.runbooks import ClusterActionsView, ClusterPlanView, ClusterValuesView
from migrations_app.api.scans import (
    ClusterScansView,
    FindingsView,
    ScanView,
    SnapshotExportView,
    SnapshotFindingsView,
    SnapshotNodesView,
    SnapshotSarifView,
    SnapshotsView,
    SnapshotView,
)
from migrations_app.api.waivers import WaiversView, WaiverView


def _both(route: str, view: type[Endpoint], *, name: str) -> list[URLPattern]:
    return [path(route, view.as_view(), name=name), path(f"{route}/", view.as_view(), name=f"{name}-slash")]


SIGN_IN = (schema.BearerScheme, schema.SessionScheme)
"""Named here, so that the schema knows them."""
urlpatterns: list[URLPattern] = [
    path("", ApiRootView.as_view(), name="api-root"),
    *_both("me", MeView, name="api-me"),
    *_both("version", VersionView, name="api-version"),
    *_both("clusters", ClustersView, name="api-clusters"),
    *_both("clusters/batch", ClusterBatchView, name="api-cluster-batch"),
    *_both("clusters/batch-labels", ClusterBatchLabelsView, name="api-cluster-batch-labels"),
    *_both("clusters/batch-removal", ClusterBatchRemovalView, name="api-cluster-batch-removal"),
    *_both("clusters/joining", ClusterJoiningView, name="api-cluster-joining"),
    *_both("clusters/eks-drafts", EksDraftsView, name="api-eks-drafts"),
    *_both("clusters/<uuid:id>", ClusterView, name="api-cluster"),
    *_both("clusters/<uuid:id>/aws", ClusterAwsView, name="api-cluster-aws"),
    *_both("clusters/<uuid:id>/aws/drafts", ClusterDraftsView, name="api-cluster-aws-drafts"),
    *_both("clusters/<uuid:id>/scans", ClusterScansView, name="api-cluster-scans"),
    *_both("clusters/<uuid:id>/plan", ClusterPlanView, name="api-cluster-plan"),
    *_both("clusters/<uuid:id>/values", ClusterValuesView, name="api-cluster-values"),
    *_both("clusters/<uuid:id>/kubeconfig", ClusterKubeconfigView, name="api-cluster-kubeconfig"),
    *_both("clusters/<uuid:id>/identity", ClusterIdentityView, name="api-cluster-identity"),
    *_both("clusters/<uuid:id>/actions", ClusterActionsView, name="api-cluster-actions"),
    *_both("clusters/<uuid:id>/iam", ClusterIamView, name="api-cluster-iam"),
    *_both("clusters/<uuid:id>/agent", ClusterAgentView, name="api-cluster-agent"),
    *_both("clusters/<uuid:id>/labels", ClusterLabelsView, name="api-cluster-labels"),
    *_both("aws-organizations", OrganizationsView, name="api-aws-organizations"),
    *_both("aws-organizations/<uuid:id>", OrganizationView, name="api-aws-organization"),
    *_both("aws-organizations/<uuid:id>/look", OrganizationLookView, name="api-aws-organization-look"),
    *_both("aws-organizations/<uuid:id>/clusters", OrganizationClustersView, name="api-aws-organization-clusters"),
    *_both("groups", GroupsView, name="api-groups"),
    *_both("groups/<uuid:id>", GroupView, name="api-group"),
    *_both("groups/<uuid:id>/clusters", GroupMembersView, name="api-group-clusters"),
    *_both("scans/<uuid:id>", ScanView, name="api-scan"),
    *_both("snapshots", SnapshotsView, name="api-snapshots"),
    *_both("snapshots/<uuid:id>", SnapshotView, name="api-snapshot"),
    *_both("snapshots/<uuid:id>/nodes", SnapshotNodesView, name="api-snapshot-nodes"),
    *_both("snapshots/<uuid:id>/findings", SnapshotFindingsView, name="api-snapshot-findings"),
    *_both("findings", FindingsView, name="api-findings"),
    *_both("checks", ChecksView, name="api-checks"),
    *_both("checks/<slug:id>", CheckView, name="api-check"),
    *_both("conversions", ConversionsView, name="api-conversions"),
    *_both("iam/evaluations", EvaluationsView, name="api-iam-evaluations"),
    *_both("fleet/summary", SummaryView, name="api-fleet-summary"),
    *_both("fleet/burndown", BurndownOfView, name="api-fleet-burndown"),
    *_both("fleet/views", SavedViewsView, name="api-fleet-views"),
    *_both("fleet/views/<uuid:id>", SavedViewDetailView, name="api-fleet-view"),
    *_both("fleet/scans", FleetScansView, name="api-fleet-scans"),
    *_both("fleet/scans/<uuid:id>", FleetScanView, name="api-fleet-scan"),
    *_both("audit", AuditView, name="api-audit"),
    *_both("audit/export", AuditExportView, name="api-audit-export"),
    *_both("events", FeedView, name="api-events"),
    *_both("plans", PlansView, name="api-plans"),
    *_both("plans/<uuid:id>", PlanView, name="api-plan"),
    *_both("plans/<uuid:id>/ask", PlanAskView, name="api-plan-ask"),
    *_both("plans/<uuid:id>/approve", PlanApproveView, name="api-plan-approve"),
    *_both("plans/<uuid:id>/rehearsals", PlanRehearsalsView, name="api-plan-rehearsals"),
    *_both("repositories", RepositoriesView, name="api-repositories"),
    *_both("clusters/<uuid:id>/pull-requests", ClusterPullRequestsView, name="api-cluster-pull-requests"),
    *_both("pull-requests/<uuid:id>", PullRequestView, name="api-pull-request"),
    *_both("pull-requests/<uuid:id>/open", PullRequestOpenView, name="api-pull-request-open"),
    *_both("pull-requests/<uuid:id>/refresh", PullRequestRefreshView, name="api-pull-request-refresh"),
    *_both("rollouts", RolloutsView, name="api-rollouts"),
    *_both("rollouts/<uuid:id>", RolloutView, name="api-rollout"),
    *_both("rollouts/<uuid:id>/start", RolloutStartView, name="api-rollout-start"),
    *_both("rollouts/<uuid:id>/pause", RolloutPauseView, name="api-rollout-pause"),
    *_both("rollouts/<uuid:id>/resume", RolloutResumeView, name="api-rollout-resume"),
    *_both("rollouts/<uuid:id>/abort", RolloutAbortView, name="api-rollout-abort"),
    *_both("rollouts/<uuid:id>/skip_node", RolloutSkipNodeView, name="api-rollout-skip-node"),
    *_both("rollouts/<uuid:id>/roll_back", RolloutRollBackView, name="api-rollout-roll-back"),
    *_both("rollouts/<uuid:id>/events", RolloutEventsView, name="api-rollout-events"),
    *_both("rollouts/<uuid:id>/exports", RolloutExportsView, name="api-rollout-exports"),
    *_both("campaigns", CampaignsView, name="api-campaigns"),
    *_both("campaigns/<uuid:id>", CampaignView, name="api-campaign"),
    *_both("campaigns/<uuid:id>/clusters", CampaignClustersView, name="api-campaign-clusters"),
    *_both("campaigns/<uuid:id>/waiting", CampaignWaitingView, name="api-campaign-waiting"),
    *_both("campaigns/<uuid:id>/decide", CampaignDecideView, name="api-campaign-decide"),
    *_both("campaigns/<uuid:id>/ask", CampaignAskView, name="api-campaign-ask"),
    *_both("campaigns/<uuid:id>/approve", CampaignApproveView, name="api-campaign-approve"),
    *_both("campaigns/<uuid:id>/start", CampaignStartView, name="api-campaign-start"),
    *_both("campaigns/<uuid:id>/pause", CampaignPauseView, name="api-campaign-pause"),
    *_both("campaigns/<uuid:id>/resume", CampaignResumeView, name="api-campaign-resume"),
    *_both("campaigns/<uuid:id>/abort", CampaignAbortView, name="api-campaign-abort"),
    *_both("campaigns/<uuid:id>/open-wave", CampaignOpenWaveView, name="api-campaign-open-wave"),
    *_both("campaigns/<uuid:id>/leave-out", CampaignLeaveOutView, name="api-campaign-leave-out"),
    *_both("campaigns/<uuid:id>/try-again", CampaignTryAgainView, name="api-campaign-try-again"),
    *_both("journeys", JourneysView, name="api-journeys"),
    *_both("journeys/<uuid:id>", JourneyView, name="api-journey"),
    *_both("journeys/<uuid:id>/ask", JourneyAskView, name="api-journey-ask"),
    *_both("journeys/<uuid:id>/approve", JourneyApproveView, name="api-journey-approve"),
    *_both("journeys/<uuid:id>/start", JourneyStartView, name="api-journey-start"),
    *_both("journeys/<uuid:id>/pause", JourneyPauseView, name="api-journey-pause"),
    *_both("journeys/<uuid:id>/disruption", JourneyHoldView, name="api-journey-disruption"),
    *_both("journeys/<uuid:id>/resume", JourneyResumeView, name="api-journey-resume"),
    *_both("journeys/<uuid:id>/abort", JourneyAbortView, name="api-journey-abort"),
    *_both("journeys/<uuid:id>/tick", JourneyTickView, name="api-journey-tick"),
    *_both("journeys/<uuid:id>/skip", JourneySkipView, name="api-journey-skip"),
    *_both("journeys/<uuid:id>/retry", JourneyRetryView, name="api-journey-retry"),
    *_both("journeys/<uuid:id>/take_back", JourneyTakeBackView, name="api-journey-take-back"),
    *_both("journeys/<uuid:id>/way_back", JourneyWayBackView, name="api-journey-way-back"),
    *_both("journeys/<uuid:id>/accept", JourneyAcceptView, name="api-journey-accept"),
    *_both("policies", PoliciesView, name="api-policies"),
    *_both("policies/default", DefaultPolicyView, name="api-policy-default"),
    *_both("clusters/<uuid:id>/policy", ClusterPolicyView, name="api-cluster-policy"),
    *_both("kill-switch", KillSwitchView, name="api-kill-switch"),
    *_both("channels", ChannelsView, name="api-channels"),
    *_both("channels/<uuid:id>", ChannelView, name="api-channel"),
    *_both("channels/<uuid:id>/secret", ChannelSecretView, name="api-channel-secret"),
    *_both("channels/<uuid:id>/test", ChannelTestView, name="api-channel-test"),
    *_both("deliveries", DeliveriesView, name="api-deliveries"),
    *_both("deliveries/<uuid:id>", DeliveryView, name="api-delivery"),
    *_both("deliveries/<uuid:id>/resend", DeliveryResendView, name="api-delivery-resend"),
    *_both("waivers", WaiversView, name="api-waivers"),
    *_both("waivers/<uuid:id>", WaiverView, name="api-waiver"),
    *_both("snapshots/<uuid:id>/export", SnapshotExportView, name="api-snapshot-export"),
    *_both("snapshots/<uuid:id>/sarif", SnapshotSarifView, name="api-snapshot-sarif"),
    *_both("people", PeopleView, name="api-people"),
    *_both("people/<int:id>", PersonView, name="api-person"),
    *_both("teams", TeamsView, name="api-teams"),
    *_both("teams/<int:id>", TeamView, name="api-team"),
    *_both("grants", GrantsView, name="api-grants"),
    *_both("grants/<uuid:id>", GrantView, name="api-grant"),
    *_both("service-accounts", ServicesView, name="api-services"),
    *_both("service-accounts/<uuid:id>", ServiceView, name="api-service"),
    *_both("service-accounts/<uuid:id>/tokens", ServiceTokensView, name="api-service-tokens"),
    *_both("service-tokens/<uuid:id>", ServiceTokenView, name="api-service-token"),
    *_both("provisioning-tokens", ProvisioningTokensView, name="api-provisioning-tokens"),
    *_both("provisioning-tokens/<uuid:id>", ProvisioningTokenView, name="api-provisioning-token"),
    *_both("tokens", TokensView, name="api-tokens"),
    *_both("tokens/<uuid:id>", TokenView, name="api-token"),
    *_both("problems/<slug:code>", ProblemMeaningView, name="api-problem"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("docs/", DocsView.as_view(), name="api-docs"),
    path("docs", DocsView.as_view(), name="api-docs-slash"),
    re_path(r"^(?P<rest>[\s\S]*)$", NoSuchPageView.as_view(), name="api-nothing"),
]
refuse_undeclared(urlpatterns)
