"""People, roles, tokens and sign-in."""
