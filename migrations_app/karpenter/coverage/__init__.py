"""Which check covers each known change and each known problem of Karpenter."""
