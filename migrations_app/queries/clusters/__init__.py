"""Reading one cluster."""
