"""AWS organizations: their roles, looks at their accounts, and the registration of their clusters."""
