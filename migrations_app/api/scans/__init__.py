"""REST resources of scans and of what they found."""
