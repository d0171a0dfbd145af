"""Ways to look at the fleet that somebody keeps under a name."""

import uuid

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    """The filters and order of the fleet page, as its address holds them; `shared` views are offered to everybody."""

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
