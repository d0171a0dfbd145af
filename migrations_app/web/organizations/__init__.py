"""Pages of AWS organizations: make the roles, look, choose clusters, see what changed."""
