"""Routes below /api/v1/. Each also answers with a final slash; the server does not start with a route without a
declared permission.
"""

from django.urls import URLPattern, path, re_path

from migrations_app.api.about import ApiRootView, MeView, VersionView
from migrations_app.api.accounts.people import PeopleView, PersonView, TeamsView, TeamView
from migrations_app.api.accounts.provisioning import ProvisioningTokensView, ProvisioningTokenView
from migrations_app.api.accounts.services import ServicesView, ServiceTokensView, ServiceTokenView, ServiceView
from migrations_app.api.accounts.tokens import GrantsView, GrantView, TokensView, TokenView
from migrations_app.api.audit import AuditExportView, AuditView
from migrations_app.api.campaigns.pending_decisions import CampaignDecideView, CampaignWaitingView
from migrations_app.api.campaigns.views import (
    CampaignAbortView,
    CampaignApprovalRequestView,
    CampaignApproveView,
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
from migrations_app.api.checks import ChecksView, CheckView
from migrations_app.api.clusters.actions import ClusterActionsView
from migrations_app.api.clusters.agent import ClusterAgentView
from migrations_app.api.clusters.aws import ClusterAwsView
from migrations_app.api.clusters.aws_drafts import ClusterDraftsView, EksDraftsView
from migrations_app.api.clusters.batches import ClusterBatchLabelsView, ClusterBatchRemovalView, ClusterBatchView
from migrations_app.api.clusters.chart_values import ClusterValuesView
from migrations_app.api.clusters.identity import ClusterIdentityView
from migrations_app.api.clusters.joining import ClusterJoiningView
from migrations_app.api.clusters.kubeconfig import ClusterKubeconfigView
from migrations_app.api.clusters.labels import ClusterLabelsView
from migrations_app.api.clusters.runbook import ClusterPlanView
from migrations_app.api.clusters.views import ClustersView, ClusterView
from migrations_app.api.conversions import ConversionsView
from migrations_app.api.events import EventsView
from migrations_app.api.fleet.burndown import BurndownOfView
from migrations_app.api.fleet.saved_views import SavedViewDetailView, SavedViewsView
from migrations_app.api.fleet.scans import FleetScansView, FleetScanView
from migrations_app.api.fleet.summary import SummaryView
from migrations_app.api.framework import schema
from migrations_app.api.framework.permissions import refuse_undeclared
from migrations_app.api.framework.schema import DocsView, NoSuchPageView, ProblemMeaningView, SchemaView
from migrations_app.api.framework.views import Endpoint
from migrations_app.api.groups import GroupMembersView, GroupsView, GroupView
from migrations_app.api.iam import ClusterIamView, EvaluationsView
from migrations_app.api.journeys.views import (
    JourneyAbortView,
    JourneyAcceptView,
    JourneyApprovalRequestView,
    JourneyApproveView,
    JourneyHoldView,
    JourneyPauseView,
    JourneyResumeView,
    JourneyRetryView,
    JourneyRollbackView,
    JourneySkipView,
    JourneyStartView,
    JourneysView,
    JourneyTakeBackView,
    JourneyTickView,
    JourneyView,
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
    OrganizationListingView,
    OrganizationsView,
    OrganizationView,
)
from migrations_app.api.plans import PlanApprovalRequestView, PlanApproveView, PlansView, PlanView
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
from migrations_app.api.scans.findings import FindingsView
from migrations_app.api.scans.scans import ClusterScansView, ScanView
from migrations_app.api.scans.snapshot_changes import SnapshotChangesView
from migrations_app.api.scans.snapshots import (
    SnapshotExportView,
    SnapshotFindingsView,
    SnapshotNodesView,
    SnapshotSarifView,
    SnapshotsView,
    SnapshotView,
)
from migrations_app.api.waivers import WaiversView, WaiverView


def _with_slash(route: str, view: type[Endpoint], *, name: str) -> list[URLPattern]:
    return [path(route, view.as_view(), name=name), path(f"{route}/", view.as_view(), name=f"{name}-slash")]


SIGN_IN = (schema.BearerScheme, schema.SessionScheme)
"""Named here, so that the schema lists them."""
urlpatterns: list[URLPattern] = [
    path("", ApiRootView.as_view(), name="api-root"),
    *_with_slash("me", MeView, name="api-me"),
    *_with_slash("version", VersionView, name="api-version"),
    *_with_slash("clusters", ClustersView, name="api-clusters"),
    *_with_slash("clusters/batch", ClusterBatchView, name="api-cluster-batch"),
    *_with_slash("clusters/batch-labels", ClusterBatchLabelsView, name="api-cluster-batch-labels"),
    *_with_slash("clusters/batch-removal", ClusterBatchRemovalView, name="api-cluster-batch-removal"),
    *_with_slash("clusters/joining", ClusterJoiningView, name="api-cluster-joining"),
    *_with_slash("clusters/eks-drafts", EksDraftsView, name="api-eks-drafts"),
    *_with_slash("clusters/<uuid:id>", ClusterView, name="api-cluster"),
    *_with_slash("clusters/<uuid:id>/aws", ClusterAwsView, name="api-cluster-aws"),
    *_with_slash("clusters/<uuid:id>/aws/drafts", ClusterDraftsView, name="api-cluster-aws-drafts"),
    *_with_slash("clusters/<uuid:id>/scans", ClusterScansView, name="api-cluster-scans"),
    *_with_slash("clusters/<uuid:id>/plan", ClusterPlanView, name="api-cluster-plan"),
    *_with_slash("clusters/<uuid:id>/values", ClusterValuesView, name="api-cluster-values"),
    *_with_slash("clusters/<uuid:id>/kubeconfig", ClusterKubeconfigView, name="api-cluster-kubeconfig"),
    *_with_slash("clusters/<uuid:id>/identity", ClusterIdentityView, name="api-cluster-identity"),
    *_with_slash("clusters/<uuid:id>/actions", ClusterActionsView, name="api-cluster-actions"),
    *_with_slash("clusters/<uuid:id>/iam", ClusterIamView, name="api-cluster-iam"),
    *_with_slash("clusters/<uuid:id>/agent", ClusterAgentView, name="api-cluster-agent"),
    *_with_slash("clusters/<uuid:id>/labels", ClusterLabelsView, name="api-cluster-labels"),
    *_with_slash("aws-organizations", OrganizationsView, name="api-aws-organizations"),
    *_with_slash("aws-organizations/<uuid:id>", OrganizationView, name="api-aws-organization"),
    *_with_slash("aws-organizations/<uuid:id>/look", OrganizationListingView, name="api-aws-organization-look"),
    *_with_slash(
        "aws-organizations/<uuid:id>/clusters", OrganizationClustersView, name="api-aws-organization-clusters"
    ),
    *_with_slash("groups", GroupsView, name="api-groups"),
    *_with_slash("groups/<uuid:id>", GroupView, name="api-group"),
    *_with_slash("groups/<uuid:id>/clusters", GroupMembersView, name="api-group-clusters"),
    *_with_slash("scans/<uuid:id>", ScanView, name="api-scan"),
    *_with_slash("snapshots", SnapshotsView, name="api-snapshots"),
    *_with_slash("snapshots/<uuid:id>", SnapshotView, name="api-snapshot"),
    *_with_slash("snapshots/<uuid:id>/nodes", SnapshotNodesView, name="api-snapshot-nodes"),
    *_with_slash("snapshots/<uuid:id>/changes", SnapshotChangesView, name="api-snapshot-changes"),
    *_with_slash("snapshots/<uuid:id>/findings", SnapshotFindingsView, name="api-snapshot-findings"),
    *_with_slash("findings", FindingsView, name="api-findings"),
    *_with_slash("checks", ChecksView, name="api-checks"),
    *_with_slash("checks/<slug:id>", CheckView, name="api-check"),
    *_with_slash("conversions", ConversionsView, name="api-conversions"),
    *_with_slash("iam/evaluations", EvaluationsView, name="api-iam-evaluations"),
    *_with_slash("fleet/summary", SummaryView, name="api-fleet-summary"),
    *_with_slash("fleet/burndown", BurndownOfView, name="api-fleet-burndown"),
    *_with_slash("fleet/views", SavedViewsView, name="api-fleet-views"),
    *_with_slash("fleet/views/<uuid:id>", SavedViewDetailView, name="api-fleet-view"),
    *_with_slash("fleet/scans", FleetScansView, name="api-fleet-scans"),
    *_with_slash("fleet/scans/<uuid:id>", FleetScanView, name="api-fleet-scan"),
    *_with_slash("audit", AuditView, name="api-audit"),
    *_with_slash("audit/export", AuditExportView, name="api-audit-export"),
    *_with_slash("events", EventsView, name="api-events"),
    *_with_slash("plans", PlansView, name="api-plans"),
    *_with_slash("plans/<uuid:id>", PlanView, name="api-plan"),
    *_with_slash("plans/<uuid:id>/ask", PlanApprovalRequestView, name="api-plan-ask"),
    *_with_slash("plans/<uuid:id>/approve", PlanApproveView, name="api-plan-approve"),
    *_with_slash("plans/<uuid:id>/rehearsals", PlanRehearsalsView, name="api-plan-rehearsals"),
    *_with_slash("repositories", RepositoriesView, name="api-repositories"),
    *_with_slash("clusters/<uuid:id>/pull-requests", ClusterPullRequestsView, name="api-cluster-pull-requests"),
    *_with_slash("pull-requests/<uuid:id>", PullRequestView, name="api-pull-request"),
    *_with_slash("pull-requests/<uuid:id>/open", PullRequestOpenView, name="api-pull-request-open"),
    *_with_slash("pull-requests/<uuid:id>/refresh", PullRequestRefreshView, name="api-pull-request-refresh"),
    *_with_slash("rollouts", RolloutsView, name="api-rollouts"),
    *_with_slash("rollouts/<uuid:id>", RolloutView, name="api-rollout"),
    *_with_slash("rollouts/<uuid:id>/start", RolloutStartView, name="api-rollout-start"),
    *_with_slash("rollouts/<uuid:id>/pause", RolloutPauseView, name="api-rollout-pause"),
    *_with_slash("rollouts/<uuid:id>/resume", RolloutResumeView, name="api-rollout-resume"),
    *_with_slash("rollouts/<uuid:id>/abort", RolloutAbortView, name="api-rollout-abort"),
    *_with_slash("rollouts/<uuid:id>/skip_node", RolloutSkipNodeView, name="api-rollout-skip-node"),
    *_with_slash("rollouts/<uuid:id>/roll_back", RolloutRollBackView, name="api-rollout-roll-back"),
    *_with_slash("rollouts/<uuid:id>/events", RolloutEventsView, name="api-rollout-events"),
    *_with_slash("rollouts/<uuid:id>/exports", RolloutExportsView, name="api-rollout-exports"),
    *_with_slash("campaigns", CampaignsView, name="api-campaigns"),
    *_with_slash("campaigns/<uuid:id>", CampaignView, name="api-campaign"),
    *_with_slash("campaigns/<uuid:id>/clusters", CampaignClustersView, name="api-campaign-clusters"),
    *_with_slash("campaigns/<uuid:id>/waiting", CampaignWaitingView, name="api-campaign-waiting"),
    *_with_slash("campaigns/<uuid:id>/decide", CampaignDecideView, name="api-campaign-decide"),
    *_with_slash("campaigns/<uuid:id>/ask", CampaignApprovalRequestView, name="api-campaign-ask"),
    *_with_slash("campaigns/<uuid:id>/approve", CampaignApproveView, name="api-campaign-approve"),
    *_with_slash("campaigns/<uuid:id>/start", CampaignStartView, name="api-campaign-start"),
    *_with_slash("campaigns/<uuid:id>/pause", CampaignPauseView, name="api-campaign-pause"),
    *_with_slash("campaigns/<uuid:id>/resume", CampaignResumeView, name="api-campaign-resume"),
    *_with_slash("campaigns/<uuid:id>/abort", CampaignAbortView, name="api-campaign-abort"),
    *_with_slash("campaigns/<uuid:id>/open-wave", CampaignOpenWaveView, name="api-campaign-open-wave"),
    *_with_slash("campaigns/<uuid:id>/leave-out", CampaignLeaveOutView, name="api-campaign-leave-out"),
    *_with_slash("campaigns/<uuid:id>/try-again", CampaignTryAgainView, name="api-campaign-try-again"),
    *_with_slash("journeys", JourneysView, name="api-journeys"),
    *_with_slash("journeys/<uuid:id>", JourneyView, name="api-journey"),
    *_with_slash("journeys/<uuid:id>/ask", JourneyApprovalRequestView, name="api-journey-ask"),
    *_with_slash("journeys/<uuid:id>/approve", JourneyApproveView, name="api-journey-approve"),
    *_with_slash("journeys/<uuid:id>/start", JourneyStartView, name="api-journey-start"),
    *_with_slash("journeys/<uuid:id>/pause", JourneyPauseView, name="api-journey-pause"),
    *_with_slash("journeys/<uuid:id>/disruption", JourneyHoldView, name="api-journey-disruption"),
    *_with_slash("journeys/<uuid:id>/resume", JourneyResumeView, name="api-journey-resume"),
    *_with_slash("journeys/<uuid:id>/abort", JourneyAbortView, name="api-journey-abort"),
    *_with_slash("journeys/<uuid:id>/tick", JourneyTickView, name="api-journey-tick"),
    *_with_slash("journeys/<uuid:id>/skip", JourneySkipView, name="api-journey-skip"),
    *_with_slash("journeys/<uuid:id>/retry", JourneyRetryView, name="api-journey-retry"),
    *_with_slash("journeys/<uuid:id>/take_back", JourneyTakeBackView, name="api-journey-take-back"),
    *_with_slash("journeys/<uuid:id>/way_back", JourneyRollbackView, name="api-journey-way-back"),
    *_with_slash("journeys/<uuid:id>/accept", JourneyAcceptView, name="api-journey-accept"),
    *_with_slash("policies", PoliciesView, name="api-policies"),
    *_with_slash("policies/default", DefaultPolicyView, name="api-policy-default"),
    *_with_slash("clusters/<uuid:id>/policy", ClusterPolicyView, name="api-cluster-policy"),
    *_with_slash("kill-switch", KillSwitchView, name="api-kill-switch"),
    *_with_slash("channels", ChannelsView, name="api-channels"),
    *_with_slash("channels/<uuid:id>", ChannelView, name="api-channel"),
    *_with_slash("channels/<uuid:id>/secret", ChannelSecretView, name="api-channel-secret"),
    *_with_slash("channels/<uuid:id>/test", ChannelTestView, name="api-channel-test"),
    *_with_slash("deliveries", DeliveriesView, name="api-deliveries"),
    *_with_slash("deliveries/<uuid:id>", DeliveryView, name="api-delivery"),
    *_with_slash("deliveries/<uuid:id>/resend", DeliveryResendView, name="api-delivery-resend"),
    *_with_slash("waivers", WaiversView, name="api-waivers"),
    *_with_slash("waivers/<uuid:id>", WaiverView, name="api-waiver"),
    *_with_slash("snapshots/<uuid:id>/export", SnapshotExportView, name="api-snapshot-export"),
    *_with_slash("snapshots/<uuid:id>/sarif", SnapshotSarifView, name="api-snapshot-sarif"),
    *_with_slash("people", PeopleView, name="api-people"),
    *_with_slash("people/<int:id>", PersonView, name="api-person"),
    *_with_slash("teams", TeamsView, name="api-teams"),
    *_with_slash("teams/<int:id>", TeamView, name="api-team"),
    *_with_slash("grants", GrantsView, name="api-grants"),
    *_with_slash("grants/<uuid:id>", GrantView, name="api-grant"),
    *_with_slash("service-accounts", ServicesView, name="api-services"),
    *_with_slash("service-accounts/<uuid:id>", ServiceView, name="api-service"),
    *_with_slash("service-accounts/<uuid:id>/tokens", ServiceTokensView, name="api-service-tokens"),
    *_with_slash("service-tokens/<uuid:id>", ServiceTokenView, name="api-service-token"),
    *_with_slash("provisioning-tokens", ProvisioningTokensView, name="api-provisioning-tokens"),
    *_with_slash("provisioning-tokens/<uuid:id>", ProvisioningTokenView, name="api-provisioning-token"),
    *_with_slash("tokens", TokensView, name="api-tokens"),
    *_with_slash("tokens/<uuid:id>", TokenView, name="api-token"),
    *_with_slash("problems/<slug:code>", ProblemMeaningView, name="api-problem"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("docs/", DocsView.as_view(), name="api-docs"),
    path("docs", DocsView.as_view(), name="api-docs-slash"),
    re_path(r"^(?P<rest>[\s\S]*)$", NoSuchPageView.as_view(), name="api-nothing"),
]
refuse_undeclared(urlpatterns)
