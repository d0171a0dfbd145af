"""Rows of facts, one kind of fact a module; only data, so that a new Karpenter release is rows here."""
