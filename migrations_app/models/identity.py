"""Accounts that sign in at an identity provider."""

from django.conf import settings
from django.db import models


class Identity(models.Model):
    """Ties an account to what the provider calls it. Names and addresses may be given to others later; this may not."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="identity"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("issuer", "subject"), name="one_account_of_an_identity"),)

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"
