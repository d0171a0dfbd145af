"""Git repositories that karpdash may write branches to, and previewed or opened pull requests."""

import uuid

from django.db import models


class CodeRepository(models.Model):
    """One repository. `sealed` is the token, or the private key of a GitHub App, encrypted and bound to the row."""

    class Kind(models.TextChoices):
        GITHUB = "github"
        GITLAB = "gitlab"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    address = models.CharField(max_length=300, unique=True)
    """`https://host/path`, without `.git`."""
    sealed = models.BinaryField()
    app = models.CharField(max_length=40, blank=True, default="")
    """The id of a GitHub App; empty for a token."""
    installation = models.CharField(max_length=40, blank=True, default="")
    group = models.ForeignKey(
        "migrations_app.ClusterGroup", null=True, on_delete=models.PROTECT, related_name="repositories"
    )
    """The clusters that it is for; null: every cluster."""
    made_by_name = models.CharField(max_length=150)
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("address",)

    def __str__(self) -> str:
        return self.address


class PullRequest(models.Model):
    """One change of one cluster as a pull request in a repository. `digest` identifies the preview; `sealed` contains
    the files before and after, encrypted.
    """

    class State(models.TextChoices):
        PREVIEWED = "previewed"
        OPENING = "opening"
        """Approved and stored; requests to the Git host are under way, or were interrupted."""
        OPEN = "open"
        MERGED = "merged"
        CLOSED = "closed"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="pull_requests")
    repository = models.ForeignKey(
        "migrations_app.CodeRepository", null=True, on_delete=models.SET_NULL, related_name="requests"
    )
    kind = models.CharField(max_length=10, choices=CodeRepository.Kind.choices)
    address = models.CharField(max_length=300)
    check_id = models.CharField(max_length=80)
    hop = models.CharField(max_length=20, blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PREVIEWED)
    base = models.CharField(max_length=255)
    commit = models.CharField(max_length=64)
    """The commit that the preview was made from."""
    branch = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    sealed = models.BinaryField()
    number = models.PositiveBigIntegerField(null=True)
    error_code = models.CharField(max_length=60, blank=True, default="")
    error = models.CharField(max_length=2000, blank=True, default="")
    branch_left = models.BooleanField(default=False)
    """Whether the branch is, or may be, in the repository without a pull request."""
    made_by_name = models.CharField(max_length=150)
    made_at = models.DateTimeField()
    approved_by_name = models.CharField(max_length=150, blank=True, default="")
    approved_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-made_at", "-pk")
        indexes = (models.Index(fields=("cluster", "check_id", "-made_at"), name="requests_of_a_check"),)
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "check_id", "hop"),
                condition=models.Q(state__in=("opening", "open")),
                name="one_open_request_of_a_change",
            ),
        )

    def __str__(self) -> str:
        return f"{self.address} {self.branch}"
