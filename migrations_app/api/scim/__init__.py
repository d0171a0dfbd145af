"""SCIM 2.0 (RFC 7643, RFC 7644) under /scim/v2, for identity providers ("directories"). It accepts only their own
tokens and has its own error format.
"""
