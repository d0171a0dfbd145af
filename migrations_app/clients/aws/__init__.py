"""AWS: sessions, calls, their errors and the policy that they need."""
