"""Which clusters count: samples do until somebody who looks at the counts has a real cluster."""

from django.db.models import Exists, Q

from migrations_app.models.cluster import Cluster
from migrations_app.queries.visibility import visible_clusters

SAMPLES = (Cluster.Source.SAMPLE, Cluster.Source.TWIN)
ENVIRONMENT = "sample"
"""Asking for this environment shows the samples all the same."""


def counting_clusters(column: str = "") -> Q:
    """Filter for rows of any table: their cluster counts. `column` names the relation to it, with two underscores."""
    real = visible_clusters().exclude(source__in=SAMPLES)
    return ~Q(**{f"{column}source__in": SAMPLES}) | ~Q(Exists(real))
