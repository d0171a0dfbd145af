"""Accounts and teams as a directory (Okta, Entra ID and such) tells them over SCIM 2.0, and its tokens.

No sign-in, no roles: a directory says who there is, who left and who is in which team. Never a protocol: that is in `api`.
"""
