"""Wiring of the Django project: settings, URLs, Celery. Facts about Karpenter do not belong here."""

import gc

# Some hundred thousand objects are made while a process starts, and stay. By Python's own figures the collector of
# garbage would look at them again and again meanwhile: a seventh of the start.
gc.set_threshold(20_000, 10, 10)
