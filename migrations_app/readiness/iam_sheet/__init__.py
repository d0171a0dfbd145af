"""The permission matrix of the IAM page as values: one row for each action, one column for each release."""
