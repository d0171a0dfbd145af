"""Remedies: commands and documents with the real names of the cluster."""
