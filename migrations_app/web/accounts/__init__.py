"""Pages of accounts: people, teams and roles, services, tokens, and what each user has chosen."""
