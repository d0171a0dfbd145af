"""GitHub and GitLab over REST, by the guarded client: read files, make a branch with one commit, open a request.

Nothing here merges a request, pushes to a branch that was there before, or changes settings of a repository.
"""
