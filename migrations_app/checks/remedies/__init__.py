"""Wording of fixes: commands and documents filled with the names of the cluster."""
