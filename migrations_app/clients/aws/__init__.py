"""AWS: sessions, API calls, their errors, and the IAM policy that they require."""
