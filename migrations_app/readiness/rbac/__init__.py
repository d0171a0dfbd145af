"""The ClusterRoles that scans and actions need, and the published files and pages about them."""
