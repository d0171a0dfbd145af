"""The samples of an installation for newcomers: clusters, people, history and the path to v1; how they come and go."""
