"""SCIM 2.0, as directories speak it."""
