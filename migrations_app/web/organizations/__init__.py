"""Pages of AWS organizations: create the roles, list accounts, choose clusters, see what changed."""
