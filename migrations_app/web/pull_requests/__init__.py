"""Pages of pull requests: repositories, the preview of a pull request, opening it, its state."""
