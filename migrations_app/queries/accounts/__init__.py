"""Reading people, roles and tokens."""
