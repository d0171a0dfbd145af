"""Pull requests of fixes: repositories with their credential, previews, opening one, asking for its state."""
