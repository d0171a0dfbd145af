"""Knowledge of Karpenter, as tables: releases, kinds, labels, settings, hops, permissions, conversion.

Facts and the pure functions that read them belong here, each with its source beside it. What was seen in a cluster
never does.
"""
