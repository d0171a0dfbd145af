"""Requests for waivers."""

from datetime import timedelta

from django.utils import timezone

from migrations_app.use_cases.scans.waivers import WaiverRequest


def a_wish(check: str = "budgets_let_nodes_go", cluster=None, **told) -> WaiverRequest:
    """Returns a request for a waiver of thirty days for every cluster; keyword arguments change it."""
    usual = {"reason": "moved in May", "owner": "team shop", "ends_at": timezone.now() + timedelta(days=30)}
    return WaiverRequest(check=check, cluster=cluster.pk if cluster else None, **(usual | told))
