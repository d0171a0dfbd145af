"""Computes from an inventory and its findings: the stage, the upgrade path, the runbook and the verdict of each hop.

Pure: nothing here stores or sends anything.
"""
