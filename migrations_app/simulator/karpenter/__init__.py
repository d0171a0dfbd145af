"""The controllers of Karpenter itself: what it launches, replaces and ends."""
