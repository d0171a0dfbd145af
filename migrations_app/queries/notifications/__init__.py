"""Reading channels and deliveries."""
