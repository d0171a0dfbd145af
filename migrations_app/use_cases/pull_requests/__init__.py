"""Pull requests with fixes: repositories with their credential, previews, opening, and reading the state."""
