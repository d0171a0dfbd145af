"""Actions on the CRDs, one file for each."""
