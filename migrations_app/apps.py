"""Django's description of the app. The label stays `migrations_app`."""

from django.apps import AppConfig


class MigrationsAppConfig(AppConfig):
    name = "migrations_app"
    verbose_name = "Karpenter migration readiness"
