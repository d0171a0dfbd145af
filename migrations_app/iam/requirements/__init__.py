"""What the Karpenter controller needs from IAM, by release."""
