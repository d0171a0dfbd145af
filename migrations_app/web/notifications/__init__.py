"""The page of notification channels and deliveries."""
