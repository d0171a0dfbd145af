"""The ClusterRoles that a scan and the actions need, and the pages about them."""
