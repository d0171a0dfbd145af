"""What the objects of a repository hold for Karpenter: values that they give to its charts, and objects inside of them.

Never: judging it, which `source_lint` does, or reading files.
"""
