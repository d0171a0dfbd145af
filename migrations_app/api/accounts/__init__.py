"""REST of tokens, people, teams, grants and service accounts."""
