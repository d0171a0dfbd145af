"""Conversion of Karpenter objects between generations: alpha to v1beta1, v1beta1 to v1, and v1 objects made by the
webhook.

Pure functions over plain dictionaries, and the findings they report, belong here. Reading files, talking to a
cluster and printing do not. The entry point is `convert.convert`; `report` and `side_by_side` present its results.
"""
