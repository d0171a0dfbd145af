"""Values of the two charts of Karpenter from one release to another: what moves, what is lost, and old and new side by
side.

Pure functions over plain trees. Files are read and printed elsewhere.
"""
