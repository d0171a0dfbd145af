"""Journeys: one hop of one cluster, its steps, who approved it, and the rollouts that were made for it."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from migrations_app.journeys.disruption_hold import HELD, WANTED
from migrations_app.journeys.states import HOLDING, JOURNEY_STATES, STEP_KINDS, STEP_STATES


class Journey(models.Model):
    """One hop of one cluster. `plan` is the canonical JSON with the digest `digest`, from `previewed` on.

    `version` grows with every change of the journey or of one of its steps. `choices` holds what the author chose.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey("migrations_app.Cluster", on_delete=models.CASCADE, related_name="journeys")
    cluster_name = models.CharField(max_length=120)
    hop = models.CharField(max_length=10, blank=True, default="")
    starts = models.CharField(max_length=40, blank=True, default="")
    lands = models.CharField(max_length=40, blank=True, default="")
    covers = models.CharField(max_length=12)
    choices = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True, default="")
    plan = models.BinaryField(default=bytes)
    state = models.CharField(max_length=20, choices=[(state, state) for state in JOURNEY_STATES], default="draft")
    version = models.PositiveIntegerField(default=1)
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    wait_code = models.CharField(max_length=60, blank=True, default="")
    """The code of what the current step waits for."""
    needs_person = models.BooleanField(default=False)
    """Whether a person has to do something before it goes on."""
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=150)
    starter = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    """Who started or resumed it last: its rollouts are started with the rights of this account."""
    started_by_name = models.CharField(max_length=150, blank=True, default="")
    started_by_token = models.BooleanField(default=False)
    snapshot = models.ForeignKey("migrations_app.Snapshot", null=True, on_delete=models.SET_NULL, related_name="+")
    nonce = models.CharField(max_length=64, blank=True, default="")
    ticket = models.CharField(max_length=200, blank=True, default="")
    note = models.CharField(max_length=2000, blank=True, default="")
    asked_at = models.DateTimeField(null=True)
    """When it last asked for a scan."""
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
    """One step of a journey: what it is stands in `definition`, how far it is beside it."""

    journey = models.ForeignKey(Journey, on_delete=models.CASCADE, related_name="steps")
    place = models.PositiveIntegerField()
    step = models.CharField(max_length=8)
    kind = models.CharField(max_length=10, choices=[(kind, kind) for kind in STEP_KINDS])
    definition = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=[(state, state) for state in STEP_STATES], default="waiting")
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    since = models.DateTimeField(null=True)
    """When its turn came, or when it began."""
    ended_at = models.DateTimeField(null=True)
    by_name = models.CharField(max_length=150, blank=True, default="")
    note = models.CharField(max_length=2000, blank=True, default="")
    """What the person wrote who ticked, confirmed or skipped it."""
    evidence = models.JSONField(default=dict)
    differences = models.JSONField(default=list)
    accepted = models.BooleanField(default=False)
    """A person accepted a plan that differs from the one that was shown; it is approved by itself."""

    class Meta:
        ordering = ["journey", "place"]
        constraints = [models.UniqueConstraint(fields=["journey", "place"], name="one_step_a_place")]


class JourneyRollout(models.Model):
    """A rollout that was made for a step: to be shown in the preview, to do the work, or to take it back; or for the
    pause at that step: to hold Karpenter's own disruption, or to let it go on.

    The newest one counts.
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


class JourneyWayBack(models.Model):
    """The way back that a journey is on: to which step, who asked for it, and why. It ends when the journey pauses."""

    journey = models.OneToOneField(Journey, on_delete=models.CASCADE, primary_key=True, related_name="way_back")
    to = models.CharField(max_length=8)
    before = models.CharField(max_length=10)
    """The state that the step had which is undone now."""
    by_name = models.CharField(max_length=150)
    reason = models.CharField(max_length=2000)
    begun_at = models.DateTimeField()
    earlier = models.PositiveBigIntegerField(default=0, db_default=0)
    """The newest `JourneyRollout` when it was asked for: rollbacks up to that one were made for an earlier way back."""


class JourneyHold(models.Model):
    """The hold of Karpenter's own disruption for a pause of a journey; the row goes once the budgets are restored.

    `asked_for` says what its workers are about; `resumes`: the journey goes on afterwards, with the rights of `person`,
    who asked last. `earlier` and `asked_after` are the newest `JourneyRollout` when the hold and when the restoring was
    asked for: rollouts up to that one were made for an earlier question.
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
