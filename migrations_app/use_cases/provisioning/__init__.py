"""Accounts and teams as a directory (Okta, Entra ID and such) tells them over SCIM 2.0, and its tokens.

A directory says who there is, who left and who is in which team: no sign-in and no roles. The protocol is in `api`.
"""
