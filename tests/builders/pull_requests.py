"""Creates rows of pull requests."""

from typing import Any

from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.pull_request import PullRequest


def a_pull_request(cluster: Cluster, **columns: Any) -> PullRequest:
    """Creates a preview in a repository that is no longer registered, encrypted with a key that no longer exists."""
    told: dict[str, Any] = {
        "kind": "github", "address": "https://github.com/acme/clusters", "check_id": "drift_enabled", "hop": "0.32",
        "base": "main", "commit": "0" * 40, "branch": "karpdash/x/y-1", "digest": "1" * 64, "made_by_name": "x",
        "sealed": b"", "made_at": timezone.now(),
    }  # fmt: skip
    return PullRequest.objects.create(cluster=cluster, **(told | columns))
