"""Wiring of the Django project: settings, URLs, Celery. Facts about Karpenter do not belong here."""
