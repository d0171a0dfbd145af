"""What the Karpenter controller needs of IAM, release by release."""
