"""SCIM 2.0 (RFC 7643, RFC 7644) for directories: /scim/v2. Its own token, its own errors; no other way in."""
