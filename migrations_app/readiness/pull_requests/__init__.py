"""Computes what a pull request of a fix holds: the changed objects of files, the new text, branch, title and body.

Pure: nothing here knows a Git host, a token or a row.
"""
