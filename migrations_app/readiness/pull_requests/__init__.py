"""What a pull request of a fix holds: which objects of a file change, the new text, branch, title and body.

Values and texts alone: nothing here knows a server, a token or a row.
"""
