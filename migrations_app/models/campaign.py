"""Campaigns: one recipe for many clusters in waves, the approvals, and the journeys of the clusters."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from migrations_app.campaigns.states import CAMPAIGN_STATES, MEMBER_STATES


class Campaign(models.Model):
    """One campaign.

    From state `previewed` on, `plan` is the canonical JSON with the digest `digest`. `version` grows with every change
    of the campaign itself, but not of its clusters.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    recipe = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True, default="")
    plan = models.BinaryField(default=bytes)
    forecast = models.JSONField(default=dict)
    """The sums of the previews, stored for the board."""
    risk = models.CharField(max_length=12, blank=True, default="")
    """The highest risk that the approval covers; empty if it covers no plan."""
    state = models.CharField(max_length=20, choices=[(state, state) for state in CAMPAIGN_STATES], default="draft")
    version = models.PositiveIntegerField(default=1)
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    wait_code = models.CharField(max_length=60, blank=True, default="")
    """The code of the reason why the next wave waits."""
    needs_person = models.BooleanField(default=False)
    """Whether a person has to act before the campaign continues."""
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=150)
    starter = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    """The account that started or resumed the campaign last: journeys start with its rights."""
    started_by_name = models.CharField(max_length=150, blank=True, default="")
    started_by_token = models.BooleanField(default=False)
    nonce = models.CharField(max_length=64, blank=True, default="")
    ticket = models.CharField(max_length=200, blank=True, default="")
    note = models.CharField(max_length=2000, blank=True, default="")
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-made_at"]
        indexes = [models.Index(fields=["state", "changed_at"], name="campaigns_by_state")]


class CampaignWave(models.Model):
    """One wave, numbered from 0. `stops` counts how often one of its clusters stopped by itself."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="waves")
    number = models.PositiveIntegerField()
    opened_at = models.DateTimeField(null=True)
    agreed_by = models.CharField(max_length=150, blank=True, default="")
    agreed_at = models.DateTimeField(null=True)
    """When a person agreed to open the wave; null without that."""
    note = models.CharField(max_length=2000, blank=True, default="")
    stops = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["campaign", "number"]
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="one_wave_of_a_number")]


class CampaignMember(models.Model):
    """One cluster of a campaign.

    `shown` is its preview; `cluster` is null if its registration was removed. `claims`: no other campaign may have the
    cluster, from the request for approval until this campaign ends.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="members")
    cluster = models.ForeignKey(
        "migrations_app.Cluster", null=True, on_delete=models.SET_NULL, related_name="campaign_parts"
    )
    cluster_name = models.CharField(max_length=120)
    environment = models.CharField(max_length=40, blank=True, default="")
    region = models.CharField(max_length=120, blank=True, default="")
    wave = models.PositiveIntegerField(default=0)
    place = models.PositiveIntegerField(default=0)
    shown = models.JSONField(null=True)
    """Null before the preview."""
    state = models.CharField(max_length=10, choices=[(state, state) for state in MEMBER_STATES], default="waiting")
    version = models.PositiveIntegerField(default=1)
    cause_code = models.CharField(max_length=60, blank=True, default="")
    cause = models.CharField(max_length=2000, blank=True, default="")
    journey = models.OneToOneField(
        "migrations_app.Journey", null=True, on_delete=models.SET_NULL, related_name="campaign_part"
    )
    """The journey of the current hop."""
    hops_left = models.PositiveIntegerField(default=0)
    """The number of hops after that of the current journey; without a journey, of all hops."""
    target_release = models.CharField(max_length=40, blank=True, default="", db_column="lands")
    """The target version at the end of the campaign."""
    claims = models.BooleanField(default=False)
    covered = models.BooleanField(default=False)
    """Whether the current journey has the approval of the campaign."""
    paused_with = models.BooleanField(default=False)
    """Whether the journey was paused together with the campaign, to be resumed with it."""
    changed_at = models.DateTimeField(auto_now=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["campaign", "wave", "place"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "cluster"], name="one_part_of_a_cluster"),
            models.UniqueConstraint(fields=["cluster"], condition=Q(claims=True), name="one_campaign_has_a_cluster"),
        ]
        indexes = [models.Index(fields=["campaign", "state"], name="members_by_state")]


class CampaignJourney(models.Model):
    """A journey of a cluster of a campaign: one for each hop, and one more for each repetition."""

    member = models.ForeignKey(CampaignMember, on_delete=models.CASCADE, related_name="journeys")
    journey = models.OneToOneField("migrations_app.Journey", on_delete=models.CASCADE, related_name="made_for_campaign")

    class Meta:
        ordering = ["pk"]


class CampaignApproval(models.Model):
    """One person's approval of exactly one digest of a campaign; if `taken_back_at` is set, it was withdrawn."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="approvals")
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    approver_name = models.CharField(max_length=150)
    digest = models.CharField(max_length=64)
    nonce = models.CharField(max_length=64)
    step_up = models.BooleanField(default=False)
    reason = models.CharField(max_length=2000, blank=True, default="")
    at = models.DateTimeField(auto_now_add=True)
    taken_back_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "approver"],
                condition=Q(taken_back_at__isnull=True),
                name="one_campaign_yes_a_person",
            )
        ]
