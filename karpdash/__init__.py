"""Wiring of the Django project: settings, addresses, Celery. No fact about Karpenter belongs here."""
