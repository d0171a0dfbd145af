"""The samples for newcomers to an installation: clusters, people, history and the path to v1; added and removed
here.
"""
