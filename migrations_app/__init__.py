"""The product: what is known about Karpenter, what was seen in a cluster, how it is judged, what may be done.

karpenter/   knowledge: releases, kinds, labels, hops, conversion, permissions
inventory/   what was seen in one cluster at one moment
checks/      judging: one question a file
readiness/   from findings to a checklist, a verdict and a path
clients/     the network: API servers, AWS, bundles
models/      rows; queries/ reads them; flow/ changes them
tasks.py     Celery's door; web/ the browser's, api/ the tools', cli/ the terminal's
samples/     the sample fleet

The upper four hold no Django and no network, and this module holds no code, so that they import without either.
"""
