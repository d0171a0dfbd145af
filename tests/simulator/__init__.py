"""The simulator of Karpenter against real API servers, and the fleets that it works on there."""
