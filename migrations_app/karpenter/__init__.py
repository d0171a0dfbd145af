"""Facts about Karpenter as tables: releases, kinds, labels, settings, metrics, hops.

Facts, each with its source, and pure functions that read them belong here. What was seen in a cluster does not.
"""
