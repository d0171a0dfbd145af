"""Conversion of Karpenter objects between generations: alpha to v1beta1, v1beta1 to v1, and what a webhook left behind.

Pure functions over plain dictionaries, and the losses they report, belong here. Reading files, talking to a cluster and
printing never do. The door is `convert.convert`; `render` and `side_by_side` show its results.
"""
