"""What karpdash adds to Django's user."""

from django.conf import settings
from django.db import models


class TemporaryPassword(models.Model):
    """Marks a user whose password was printed or sent: it is good for one thing, choosing another."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE)
