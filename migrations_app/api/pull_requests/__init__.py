"""REST of pull requests: repositories, previews, opening and state."""
