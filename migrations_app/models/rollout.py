"""Rollouts: a plan, its approvals, and everything that its execution records."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from migrations_app.actions.states import HOLDING, STATES


class Rollout(models.Model):
    """One plan and its only execution. A draft holds the request.

    From `previewed` on, `plan` is the canonical JSON with the digest `digest` and never changes. `version` grows with
    each change of state; `stop_request` is what a person asked for, which is done between two requests to the cluster.
    """

    class StopRequest(models.TextChoices):
        NONE = ""
        PAUSE = "pause"
        ABORT = "abort"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="rollouts")
    cluster_name = models.CharField(max_length=120)
    action = models.CharField(max_length=60)
    title = models.CharField(max_length=300)
    risk = models.CharField(max_length=12, blank=True, default="")
    parameters = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True, default="")
    plan = models.BinaryField(default=bytes)
    state = models.CharField(max_length=20, choices=[(state, state) for state in STATES], default="draft")
    version = models.PositiveIntegerField(default=1)
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    stop_request = models.CharField(
        max_length=10, choices=StopRequest.choices, blank=True, default=StopRequest.NONE, db_column="wish"
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=150)
    started_by_name = models.CharField(max_length=150, blank=True, default="")
    snapshot = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")
    policy_version = models.PositiveIntegerField(default=1)
    nonce = models.CharField(max_length=64, blank=True, default="")
    accepted = models.JSONField(default=list)
    """Ids of steps accepted by an approver although no dry run succeeded or a tool may revert them."""
    provable = models.JSONField(default=dict)
    """Steps without a successful dry run: id to reason."""
    baseline = models.JSONField(default=dict)
    """The cluster's counters before the current batch."""
    picture = models.JSONField(default=dict)
    """The latest counters, for the rollout's page."""
    waits_for = models.CharField(max_length=1000, blank=True, default="")
    """Text of what the worker waits for; empty while there is progress."""
    gate_since = models.DateTimeField(null=True)
    unknown_since = models.DateTimeField(null=True)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    changed_at = models.DateTimeField(auto_now=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    rolls_back = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="rolled_back_by")
    ticket = models.CharField(max_length=200, blank=True, default="")
    note = models.CharField(max_length=2000, blank=True, default="")
    worker_attempts = models.PositiveIntegerField(default=0)
    beside = models.BooleanField(default=False, db_default=False)
    """Whether it belongs to a pause, so that it may run while another rollout of the cluster is paused."""

    class Meta:
        ordering = ["-made_at"]
        permissions = [
            ("operate_rollout", "Can prepare and start rollouts"),
            ("approve_rollout", "Can approve"),
            ("break_glass", "Can approve alone in an emergency"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "beside"], condition=Q(state__in=sorted(HOLDING)), name="one_rollout_holds_a_cluster"
            )
        ]
        indexes = [models.Index(fields=["state", "changed_at"])]


class Attempt(models.Model):
    """One journal line: the intent before a request, and its outcome. The outcome is empty while it is not known."""

    class Outcome(models.TextChoices):
        OPEN = ""
        APPLIED = "applied"
        NOOP = "noop"
        REFUSED = "refused"
        UNKNOWN = "unknown"
        NOT_APPLIED = "not_applied"
        CHANGED = "changed_by_other"

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="attempts")
    step = models.CharField(max_length=8)
    number = models.PositiveIntegerField()
    fence = models.PositiveBigIntegerField()
    verb = models.CharField(max_length=10)
    path = models.CharField(max_length=1000)
    body_digest = models.CharField(max_length=64)
    uid = models.CharField(max_length=64, blank=True, default="")
    resource_version = models.CharField(max_length=64, blank=True, default="")
    actor = models.CharField(max_length=150)
    intent_at = models.DateTimeField()
    outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True, default=Outcome.OPEN)
    status = models.PositiveIntegerField(null=True)
    reason = models.CharField(max_length=2000, blank=True, default="")
    audit_id = models.CharField(max_length=64, blank=True, default="")
    new_uid = models.CharField(max_length=64, blank=True, default="")
    new_resource_version = models.CharField(max_length=64, blank=True, default="")
    settled_by = models.CharField(max_length=150, blank=True, default="")
    outcome_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["rollout", "step", "number"], name="one_row_an_attempt")]


class NodeSkip(models.Model):
    """A person's decision to skip the step of one node; the node never counts as done."""

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="skips")
    step = models.CharField(max_length=8)
    node = models.CharField(max_length=253)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    by_name = models.CharField(max_length=150)
    reason = models.CharField(max_length=2000)
    at = models.DateTimeField()

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["rollout", "step"], name="one_skip_a_step")]


class RolloutSample(models.Model):
    """The counters of a rollout's cluster at one time, for the charts of its page. Null if a value could not be
    counted.
    """

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="samples")
    taken_at = models.DateTimeField()
    ready_nodes = models.PositiveIntegerField(null=True)
    pending_pods = models.PositiveIntegerField(null=True)
    held_pods = models.PositiveIntegerField(null=True)
    pending_limit = models.PositiveIntegerField(null=True)
    """How many Pending pods the gate allows; null without a limit."""

    class Meta:
        ordering = ["pk"]


class Lease(models.Model):
    """The worker that may change a cluster. The fencing token only grows; times are by the database's clock."""

    cluster = models.OneToOneField("migrations_app.Cluster", on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=120, blank=True, default="")
    token = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)


class Approval(models.Model):
    """One person's approval of exactly one digest."""

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="approvals")
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    approver_name = models.CharField(max_length=150)
    digest = models.CharField(max_length=64)
    nonce = models.CharField(max_length=64)
    step_up = models.BooleanField(default=False)
    break_glass = models.BooleanField(default=False)
    reason = models.CharField(max_length=2000, blank=True, default="")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at"]
        constraints = [models.UniqueConstraint(fields=["rollout", "approver"], name="one_yes_a_person")]


class RolloutBackup(models.Model):
    """Encrypted backup of an object before the rollout; `proven_at` is when it was read back and verified."""

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="backups")
    path = models.CharField(max_length=1000)
    uid = models.CharField(max_length=64, blank=True, default="")
    sealed = models.BinaryField()
    digest = models.CharField(max_length=64)
    proven_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "migrations_app_exported"
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["rollout", "path"], name="one_export_an_object")]


class StepDiff(models.Model):
    """The object of a step before the step and as the server would store it, encrypted and bound to the
    rollout's id.
    """

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="diffs")
    step = models.CharField(max_length=8)
    sealed = models.BinaryField()

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["rollout", "step"], name="one_diff_a_step")]


class Outbox(models.Model):
    """Transactional outbox: an event to publish or a message to send after commit; the sweep marks the row as done."""

    topic = models.CharField(max_length=60)
    body = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, db_index=True)

    class Meta:
        ordering = ["pk"]
