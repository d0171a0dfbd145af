"""Notification channels and deliveries."""

import uuid

from django.db import models
from django.db.models import Q


class Channel(models.Model):
    """A channel. `sealed` holds the address, a key and the signing secrets; `place` is the part that may be displayed.

    `everywhere` is False for a channel limited to `groups`. If its last group is deleted, it receives events of no
    cluster, not of all.
    """

    class Kind(models.TextChoices):
        WEBHOOK = "webhook"
        SLACK = "slack"
        TEAMS = "teams"
        PAGERDUTY = "pagerduty"
        OPSGENIE = "opsgenie"
        JIRA = "jira"
        EMAIL = "email"
        PEOPLE = "people"
        """The built-in channel: mail to everyone who approves or administers."""

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
    """No message is sent before this time, because the last one was just sent or failed."""
    failures = models.PositiveIntegerField(default=0)
    """Consecutive messages that were not received."""

    class Meta:
        ordering = ["name"]


class Delivery(models.Model):
    """One event for one channel. `key` is the merge key: waiting events with the same key become one."""

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
    """Counted before sending: once tried, the event id and content never change."""
    tries_from = models.PositiveIntegerField(default=0)
    """The value of `attempts` when a person resent it."""
    log = models.JSONField(default=list)
    """The latest attempts with time and code; an empty code means received."""
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


class PublishedEventMark(models.Model):
    """Marks of events that are published only once, such as an expiring waiver."""

    mark = models.CharField(max_length=120, unique=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "migrations_app_announced"
