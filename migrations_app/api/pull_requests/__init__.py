"""Pull requests over REST: repositories, previews, opening and their state."""
