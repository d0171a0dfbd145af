"""Which known change of Karpenter and which known problem is answered by which check."""
