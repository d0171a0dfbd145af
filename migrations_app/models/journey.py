"""Journeys: one hop of one cluster, its steps, its approvals, and the rollouts of its steps."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from migrations_app.journeys.disruption_hold import HELD, WANTED
from migrations_app.journeys.states import HOLDING, JOURNEY_STATES, STEP_KINDS, STEP_STATES


class Journey(models.Model):
    """One hop of one cluster.

    From state `previewed` on, `plan` is the canonical JSON with the digest `digest`. `version` grows with every change
    of the journey or of one of its steps. `choices` are the choices of the author.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="journeys")
    cluster_name = models.CharField(max_length=120)
    hop = models.CharField(max_length=10, blank=True, default="")
    starts = models.CharField(max_length=40, blank=True, default="")
    target_release = models.CharField(max_length=40, blank=True, default="", db_column="lands")
    covers = models.CharField(max_length=12)
    choices = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True, default="")
    plan = models.BinaryField(default=bytes)
    state = models.CharField(max_length=20, choices=[(state, state) for state in JOURNEY_STATES], default="draft")
    version = models.PositiveIntegerField(default=1)
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    wait_code = models.CharField(max_length=60, blank=True, default="")
    """The code of the reason why the current step waits."""
    needs_person = models.BooleanField(default=False)
    """Whether a person has to act before the journey continues."""
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=150)
    starter = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    """The account that started or resumed the journey last: rollouts start with its rights."""
    started_by_name = models.CharField(max_length=150, blank=True, default="")
    started_by_token = models.BooleanField(default=False)
    snapshot = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")
    nonce = models.CharField(max_length=64, blank=True, default="")
    ticket = models.CharField(max_length=200, blank=True, default="")
    note = models.CharField(max_length=2000, blank=True, default="")
    asked_at = models.DateTimeField(null=True)
    """When the journey requested a scan last."""
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    worker_attempts = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-made_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(state__in=sorted(HOLDING)), name="one_journey_holds_a_cluster"
            )
        ]
        indexes = [models.Index(fields=["state", "changed_at"])]


class JourneyStepRow(models.Model):
    """One step of a journey: its definition, and the columns of its progress."""

    journey = models.ForeignKey(Journey, on_delete=models.CASCADE, related_name="steps")
    place = models.PositiveIntegerField()
    step = models.CharField(max_length=8)
    kind = models.CharField(max_length=10, choices=[(kind, kind) for kind in STEP_KINDS])
    definition = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=[(state, state) for state in STEP_STATES], default="waiting")
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    since = models.DateTimeField(null=True)
    """When the turn of the step came, or when it began."""
    ended_at = models.DateTimeField(null=True)
    by_name = models.CharField(max_length=150, blank=True, default="")
    note = models.CharField(max_length=2000, blank=True, default="")
    """The note of the person who confirmed or skipped the step."""
    evidence = models.JSONField(default=dict)
    differences = models.JSONField(default=list)
    accepted = models.BooleanField(default=False)
    """A person accepted a plan that differs from the previewed one; the rollout then has its own approval."""

    class Meta:
        ordering = ["journey", "place"]
        constraints = [models.UniqueConstraint(fields=["journey", "place"], name="one_step_a_place")]


class JourneyRollout(models.Model):
    """A rollout of a step: for the preview, to do the work, or to undo it; or for a pause at that step: to hold
    Karpenter's own disruption, or to release it. The newest rollout of a purpose counts.
    """

    class Purpose(models.TextChoices):
        PREVIEW = "preview"
        WORK = "work"
        BACK = "back"
        HOLD = "hold"
        RELEASE = "release"

    step = models.ForeignKey(JourneyStepRow, on_delete=models.CASCADE, related_name="made")
    rollout = models.OneToOneField("migrations_app.Rollout", on_delete=models.CASCADE, related_name="journey_part")
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]


class JourneyRollback(models.Model):
    """The rollback of a journey: to which step, who requested it, and why. The row is deleted when the journey
    pauses.
    """

    journey = models.OneToOneField(Journey, on_delete=models.CASCADE, primary_key=True, related_name="rollback")
    to = models.CharField(max_length=8)
    before = models.CharField(max_length=10)
    """The former state of the step that is being undone."""
    by_name = models.CharField(max_length=150)
    reason = models.CharField(max_length=2000)
    begun_at = models.DateTimeField()
    earlier = models.PositiveBigIntegerField(default=0, db_default=0)
    """The newest `JourneyRollout` at the request: rollbacks up to that one belong to an earlier rollback of the
    journey.
    """

    class Meta:
        db_table = "migrations_app_journeywayback"


class JourneyHold(models.Model):
    """The hold of Karpenter's own disruption for a pause of a journey; the row is deleted when the budgets are
    restored. `asked_for` is what its workers have to do; `resumes`: the journey resumes afterwards, with the rights of
    `person`, who made the last request. `earlier` and `asked_after` are the newest `JourneyRollout` at the request of
    the hold and of the release: rollouts up to that one belong to earlier requests.
    """

    journey = models.OneToOneField(Journey, on_delete=models.CASCADE, primary_key=True, related_name="hold")
    asked_for = models.CharField(max_length=10, choices=[(word, word) for word in WANTED], default=HELD)
    resumes = models.BooleanField(default=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    by_name = models.CharField(max_length=150)
    by_token = models.BooleanField(default=False)
    begun_at = models.DateTimeField()
    wait_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    earlier = models.PositiveBigIntegerField(default=0)
    asked_after = models.PositiveBigIntegerField(default=0)


class JourneyApproval(models.Model):
    """One person's approval of exactly one digest of a journey."""

    journey = models.ForeignKey(Journey, on_delete=models.CASCADE, related_name="approvals")
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    approver_name = models.CharField(max_length=150)
    digest = models.CharField(max_length=64)
    nonce = models.CharField(max_length=64)
    step_up = models.BooleanField(default=False)
    reason = models.CharField(max_length=2000, blank=True, default="")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at"]
        constraints = [models.UniqueConstraint(fields=["journey", "approver"], name="one_journey_yes_a_person")]
