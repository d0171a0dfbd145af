"""What is allowed where: how many have to agree, which actions, when; and the switch that stops everything."""

from django.db import models

ASKED = {"low": 0, "medium": 1, "high": 1, "destructive": 2}


def _asked() -> dict[str, int]:
    return dict(ASKED)


def _every() -> list[str]:
    return ["*"]


class Policy(models.Model):
    """The policy of one cluster; the row without a cluster is that of all which have none of their own.

    `windows` are lists of {"days": [0..6], "from": "HH:MM", "to": "HH:MM"} in UTC; without any it is always open.
    """

    cluster = models.OneToOneField("migrations_app.Cluster", null=True, on_delete=models.CASCADE, related_name="policy")
    version = models.PositiveIntegerField(default=1)
    approvals = models.JSONField(default=_asked)
    actions = models.JSONField(default=_every)
    windows = models.JSONField(default=list)
    frozen = models.BooleanField(default=False)
    frozen_why = models.CharField(max_length=500, blank=True, default="")
    batch = models.PositiveIntegerField(default=1)
    per_hour = models.PositiveIntegerField(default=60)
    pool_percent = models.PositiveIntegerField(default=10)

    class Meta:
        permissions = [("administer_policy", "Can change policies and the kill switch")]


class KillSwitch(models.Model):
    """One row. While `on`, no request that changes a cluster is sent. Two people lift it."""

    on = models.BooleanField(default=False)
    why = models.CharField(max_length=500, blank=True, default="")
    by_name = models.CharField(max_length=150, blank=True, default="")
    since = models.DateTimeField(null=True)
    lifting_by = models.CharField(max_length=150, blank=True, default="")
    lifting_id = models.PositiveBigIntegerField(null=True)
    """Who asked to lift it: another person has to agree (A36)."""
    version = models.PositiveIntegerField(default=1)
