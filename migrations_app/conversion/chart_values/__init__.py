"""Converts values of Karpenter's two charts from one release to another: what moves, what is lost, old and new side by
side.

Pure functions over plain trees. Reading files and printing do not belong here.
"""
