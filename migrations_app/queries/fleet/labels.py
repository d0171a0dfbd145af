"""All labels of clusters: stored labels, and those derived from the cluster's ARN.

`environment` is a column of the cluster. For an EKS cluster the account and region of its ARN replace stored labels
with these keys.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, StrIndex, Substr

from migrations_app.models.cluster import Cluster, ClusterLabel
from migrations_app.queries.visibility import visible, visible_clusters

ENVIRONMENT = "environment"
DERIVED = ("region", "account")
"""Keys that are derived from an ARN."""
USUAL = (ENVIRONMENT, "team", *DERIVED)
"""Keys that are offered even if no cluster uses them."""
MAX_CHOICES = 300
_BEFORE_REGION = ":eks:"


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """One label; `derived` if it comes from the cluster's ARN and cannot be changed."""

    key: str
    value: str
    derived: bool = False

    @property
    def text(self) -> str:
        """The label as filters write it, key:value."""
        return f"{self.key}:{self.value}"


def place_in(arn: str) -> dict[str, str]:
    """Region and account of an EKS cluster's ARN; empty without an ARN."""
    parts = arn.split(":")
    place = {"region": parts[3], "account": parts[4]} if len(parts) > 5 else {}
    return {key: value for key, value in place.items() if value}


def labels_in(row: Cluster, stored: Iterable[tuple[str, str]]) -> tuple[Label, ...]:
    """All labels of a row, by key; `stored` are its stored labels."""
    place = place_in(row.eks_arn)
    own = [(ENVIRONMENT, row.environment)] if row.environment else []
    plain_labels = [Label(key, value) for key, value in (*own, *stored) if key not in place]
    return tuple(sorted([*plain_labels, *(Label(key, value, derived=True) for key, value in place.items())]))


def labels_of(cluster_id: uuid.UUID) -> tuple[Label, ...]:
    """All labels of one cluster; empty if it does not exist or is not visible."""
    row = visible_clusters().defer("sealed").prefetch_related("labels").filter(pk=cluster_id).first()
    return shown_labels(row) if row else ()


def labels_from_columns(cluster_id: uuid.UUID, *, environment: str, arn: str) -> tuple[Label, ...]:
    """All labels of a cluster whose columns the caller has read already, in one query."""
    stored = ClusterLabel.objects.filter(cluster_id=cluster_id).values_list("key", "value")
    return labels_in(Cluster(environment=environment, eks_arn=arn), stored)


def shown_labels(row: Cluster) -> tuple[Label, ...]:
    """All labels of a row that was prefetched with its `labels`."""
    return labels_in(row, ((label.key, label.value) for label in row.labels.all()))


def label_expression(key: str) -> Any:  # noqa: ANN401 - Django's expressions share no public base type
    """Database expression for the value of that label; empty if the cluster does not have it."""
    if key == ENVIRONMENT:
        return F("environment")
    label_values = ClusterLabel.objects.filter(cluster=OuterRef("pk"), key=key).values("value")[:1]
    stored = Coalesce(Subquery(label_values), Value(""))
    if key not in DERIVED:
        return stored
    return Case(When(eks_arn="", then=stored), default=_in_arn(key))


def _in_arn(key: str) -> Any:  # noqa: ANN401 - as above
    """Database expression for that part of the ARN."""
    rest = Substr("eks_arn", StrIndex(F("eks_arn"), Value(_BEFORE_REGION)) + len(_BEFORE_REGION))
    end = StrIndex(rest, Value(":"))
    return Substr(rest, 1, end - 1) if key == "region" else Substr(rest, end + 1, 12)


def with_labels(rows: QuerySet[Cluster], labels: Iterable[str]) -> QuerySet[Cluster]:
    """The clusters that have all these labels, given as key:value; an empty value means without that label."""
    for number, text in enumerate(labels):
        key, _, value = text.partition(":")
        rows = rows.alias(**{f"label_{number}": label_expression(key)}).filter(**{f"label_{number}": value})
    return rows


def label_choices() -> Mapping[str, tuple[str, ...]]:
    """The values that visible clusters use, by key, in two queries."""
    stored = ClusterLabel.objects.filter(visible()).order_by("key", "value").values_list("key", "value")
    labels = {Label(key, value) for key, value in stored.distinct()[:MAX_CHOICES]}
    places = visible_clusters().annotate(region=label_expression("region"), account=label_expression("account"))
    columns = places.order_by().values_list("environment", "region", "account")
    for column_values in columns.distinct()[:MAX_CHOICES]:
        labels |= {
            Label(key, value) for key, value in zip((ENVIRONMENT, *DERIVED), column_values, strict=True) if value
        }
    keys = sorted({label.key for label in labels}, key=lambda key: (key not in USUAL, key))
    return {key: tuple(sorted(label.value for label in labels if label.key == key)) for key in keys}
