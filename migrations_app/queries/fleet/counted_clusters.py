"""Which clusters count: sample clusters only count until the caller can see a real cluster."""

from django.db.models import Exists, Q

from migrations_app.models.cluster import Cluster
from migrations_app.queries.visibility import visible_clusters

SAMPLES = (Cluster.Source.SAMPLE, Cluster.Source.TWIN)
ENVIRONMENT = "sample"
"""A filter for this environment shows the sample clusters in any case."""


def counting_clusters(column: str = "") -> Q:
    """Filter for rows of any table whose cluster counts. `column` names the relation to the cluster, with two
    underscores.
    """
    real = visible_clusters().exclude(source__in=SAMPLES)
    return ~Q(**{f"{column}source__in": SAMPLES}) | ~Q(Exists(real))
