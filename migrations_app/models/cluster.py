"""Registered clusters with encrypted credentials, their groups and labels, and saved views of the fleet page."""

import uuid

from django.conf import settings
from django.db import models

from migrations_app.inventory.objects.cluster_arn import LONGEST_ROLE_ARN


class Cluster(models.Model):
    """One scanned cluster. `sealed` is the kubeconfig or bundle, encrypted and bound to the row's id.

    `eks_arn`, `role_arn` and `external_id` are the access to its AWS account, all set or none; they are not
    credentials. With `organization`, the role is assumed through the hub role of that organization and with its
    external id, and `external_id` is empty.
    """

    class Source(models.TextChoices):
        KUBECONFIG = "kubeconfig"
        BUNDLE = "bundle"
        SAMPLE = "sample"
        TWIN = "twin"
        """A sample cluster that can be changed: its state is a row, and there is no server."""
        IN_CLUSTER = "in_cluster"
        EKS = "eks"
        AGENT = "agent"
        """Not reachable from here: an agent in the cluster connects to karpdash."""

    LOCAL_SOURCES = (Source.SAMPLE, Source.BUNDLE, Source.TWIN)
    """Those without a server: nothing is reached over a network."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, unique=True)
    source = models.CharField(max_length=20, choices=Source.choices)
    server = models.CharField(max_length=500, blank=True, default="")
    context = models.CharField(max_length=253, blank=True, default="")
    environment = models.CharField(max_length=40, blank=True, default="")
    target = models.CharField(max_length=20, blank=True, default="")
    eks_arn = models.CharField(max_length=300, blank=True, default="")
    role_arn = models.CharField(max_length=LONGEST_ROLE_ARN, blank=True, default="")
    external_id = models.CharField(max_length=100, blank=True, default="")
    organization = models.ForeignKey(
        "migrations_app.AwsOrganization", null=True, on_delete=models.PROTECT, related_name="clusters"
    )
    sealed = models.BinaryField(null=True)
    credential_version = models.PositiveIntegerField(default=1)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")
    interval_seconds = models.PositiveIntegerField(null=True)
    next_due_at = models.DateTimeField(null=True, db_index=True)
    latest = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")
    last_attempt_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    last_error_code = models.CharField(max_length=60, blank=True, default="")
    last_error_detail = models.CharField(max_length=2000, blank=True, default="")
    # The defaults are in the database, too, because workers of the previous release write rows without them (R27).
    kube_system_uid = models.CharField(max_length=64, blank=True, default="", db_default="", db_index=True)
    """The uid of the cluster's namespace kube-system, which identifies the cluster; empty if not known."""
    ca_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    """SHA-256 of the cluster's CA, stored together with the uid."""
    identity_error = models.CharField(max_length=60, blank=True, default="", db_default="")
    """The code of the reason why the newest scan could not read the uid; empty if it could."""
    other_uid = models.CharField(max_length=64, blank=True, default="", db_default="")
    other_ca_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    """The identity of another cluster that answered a scan instead of this one; empty if there is none."""
    identity_since = models.DateTimeField(null=True)
    """When a person accepted another cluster as this one; snapshots before are of the former cluster. Null if never."""

    class Meta:
        verbose_name = "cluster"
        ordering = ["name"]
        constraints = [
            # One external id opens the role of one cluster (T20): a draft cannot be used for two clusters.
            models.UniqueConstraint(
                fields=["external_id"], condition=~models.Q(external_id=""), name="external_id_of_one_cluster"
            )
        ]


class ClusterAgent(models.Model):
    """The agent of a cluster of the source `agent`: its token, stored as a digest, and what it reported when it
    connected. `session` is the connection that its messages have to name; empty without a connection. `refused_code` is
    the reason why the newest refused connection was refused.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.OneToOneField("migrations_app.Cluster", on_delete=models.CASCADE, related_name="agent")
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    made_by_name = models.CharField(max_length=150, blank=True, default="")
    revoked_at = models.DateTimeField(null=True)
    session = models.CharField(max_length=64, blank=True, default="")
    acts = models.BooleanField(default=False)
    helm_in = models.CharField(max_length=63, blank=True, default="", db_default="")
    """The namespace in which the agent carries runs of helm; empty for none."""
    release = models.CharField(max_length=40, blank=True, default="")
    server = models.CharField(max_length=500, blank=True, default="")
    ca_digest = models.CharField(max_length=64, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")
    connected_at = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(null=True)
    refused_at = models.DateTimeField(null=True)
    refused_code = models.CharField(max_length=40, blank=True, default="")

    def __str__(self) -> str:
        return f"{self.prefix} {self.server}"


class ClusterGroup(models.Model):
    """Clusters that are managed alike. A cluster may be in several groups."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    interval_seconds = models.PositiveIntegerField(null=True)
    """Seconds between scans of a cluster without its own interval; with several groups the shortest applies."""
    clusters = models.ManyToManyField("migrations_app.Cluster", related_name="groups")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class ClusterLabel(models.Model):
    """A label of a cluster, such as team or region, for filters and groups of the fleet page."""

    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="labels")
    key = models.CharField(max_length=63)
    value = models.CharField(max_length=120)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "key"), name="one_value_of_a_label"),)
        indexes = (models.Index(fields=("key", "value"), name="clusters_by_label"),)

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


class SavedView(models.Model):
    """Filters and order of the fleet page as a query string; `shared` views are offered to everyone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=2000, blank=True, default="")
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("owner", "name"), name="one_view_of_a_name"),)

    def __str__(self) -> str:
        return self.name
