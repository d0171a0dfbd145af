"""Checks of nodes, Machines and NodeClaims."""
