"""AWS organizations: their roles, the listing of their accounts, and the registration of their clusters."""
