"""Where news goes to, and each piece of news on its way there."""

import uuid

from django.db import models
from django.db.models import Q


class Channel(models.Model):
    """`sealed` holds the address and the signing secrets; `place` is what may be shown of the address.

    `everywhere` is False for a channel that is narrowed to `groups`: one whose last group is gone hears of no cluster,
    instead of all of them.
    """

    class Kind(models.TextChoices):
        WEBHOOK = "webhook"
        SLACK = "slack"
        EMAIL = "email"
        PEOPLE = "people"
        """The one that is always there: a mail to everybody who approves or administers."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    sealed = models.BinaryField(default=b"")
    place = models.CharField(max_length=300)
    events = models.JSONField(default=list)
    everywhere = models.BooleanField(default=True)
    groups = models.ManyToManyField("migrations_app.ClusterGroup", related_name="channels")
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    made_by_name = models.CharField(max_length=150)
    made_at = models.DateTimeField()
    busy_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    """No message before that: the last one was just sent, or could not be."""
    failures = models.PositiveIntegerField(default=0)
    """Messages in a row that were not received."""

    class Meta:
        ordering = ["name"]


class Delivery(models.Model):
    """One event for one channel. `key` is the same for events that tell of the same matter."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=80)
    topic = models.CharField(max_length=60)
    key = models.CharField(max_length=150)
    body = models.JSONField()
    urgent = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    """Counted before the sending: what was tried once keeps its event id and its words for ever."""
    tries_from = models.PositiveIntegerField(default=0)
    """What `attempts` was when somebody asked for it to be sent again."""
    log = models.JSONField(default=list)
    """The last attempts, each with its time and code; an empty code: received."""
    made_at = models.DateTimeField()
    next_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=60, blank=True, default="")

    class Meta:
        ordering = ["-made_at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["channel", "event_id"], name="one_delivery_an_event")]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="waiting"), name="deliveries_waiting"),
            models.Index(fields=["channel", "key", "-made_at"], name="deliveries_of_a_matter"),
            models.Index(fields=["-made_at", "-id"], name="deliveries_newest"),
        ]


class Announced(models.Model):
    """What was announced once and is not to be announced again, such as a waiver's nearing end."""

    mark = models.CharField(max_length=120, unique=True)
    at = models.DateTimeField()
