"""Who may do what to which clusters."""

import uuid

from django.conf import settings
from django.db import models


class Grant(models.Model):
    """A role, given to a person or to a team (a group of accounts), over a group of clusters or over all of them."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        OPERATOR = "operator"
        APPROVER = "approver"
        ADMIN = "admin"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    team = models.ForeignKey("auth.Group", null=True, blank=True, on_delete=models.CASCADE, related_name="grants")
    over = models.ForeignKey(
        "migrations_app.ClusterGroup", null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    """None: every cluster there is and will be."""
    role = models.CharField(max_length=20, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(person__isnull=False, team__isnull=True)
                | models.Q(person__isnull=True, team__isnull=False),
                name="grant_to_a_person_or_a_team",
            ),
        )

    def __str__(self) -> str:
        return f"{self.role} for {self.person or self.team} over {self.over or 'every cluster'}"
