"""The checks, one file each; discovered, never listed."""
