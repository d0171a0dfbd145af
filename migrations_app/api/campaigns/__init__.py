"""campaigns over REST: their shapes and their endpoints."""
