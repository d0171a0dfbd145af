"""How many people have to approve a campaign by the current policies, and whose approvals are valid."""

import uuid
from collections import defaultdict
from collections.abc import Collection

from migrations_app.access import approval_still_valid
from migrations_app.actions.changes import Risk
from migrations_app.models.campaign import Campaign, CampaignApproval
from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Policy
from migrations_app.queries.rollouts.policies import approvals_required, risk_of
from migrations_app.queries.visibility import rights_over_every


def approvals_by_cluster(cluster_ids: Collection[uuid.UUID], risk: Risk) -> dict[uuid.UUID, int]:
    """The number of approvals that the risk needs, by cluster, by the strictest policy of all its registrations."""
    policies = {row.cluster_id: row for row in Policy.objects.all()}
    general = policies.get(None) or Policy()
    if not policies.keys() - {None}:
        return dict.fromkeys(cluster_ids, approvals_required(general, risk))
    rows = Cluster.objects.filter(pk__in=cluster_ids).values_list("pk", "kube_system_uid")
    uids = dict(rows)
    twins: dict[str, set[uuid.UUID]] = defaultdict(set)
    known = {uid for uid in uids.values() if uid}
    for pk, uid in Cluster.objects.filter(kube_system_uid__in=known).values_list("pk", "kube_system_uid"):
        twins[uid].add(pk)
    return {
        pk: max(
            approvals_required(policies.get(registration) or general, risk)
            for registration in {pk} | twins.get(uids.get(pk, ""), set())
        )
        for pk in cluster_ids
    }


def campaign_approvals_needed(row: Campaign, cluster_ids: Collection[uuid.UUID]) -> int:
    """How many people have to approve the campaign now: the maximum over its clusters."""
    if not row.risk:
        return 0
    return max(approvals_by_cluster(cluster_ids, risk_of(row.risk)).values(), default=0)


def campaign_approvals_valid(row: Campaign, cluster_ids: Collection[uuid.UUID]) -> list[CampaignApproval]:
    """The approvals of exactly this plan whose approvers still have the right over every cluster of it (A41)."""
    approvals = row.approvals.filter(taken_back_at=None, digest=row.digest, nonce=row.nonce).select_related("approver")
    return [approval for approval in approvals if _counts(row, approval, cluster_ids=cluster_ids)]


def _counts(row: Campaign, approval: CampaignApproval, *, cluster_ids: Collection[uuid.UUID]) -> bool:
    person = approval.approver
    if person is None or not person.is_active or (row.started_by_token and person.pk == row.starter_id):
        return False
    return approval_still_valid(rights_over_every(person, cluster_ids), alone=False)
