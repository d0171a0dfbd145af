"""The pages of pull requests: repositories, the preview of one request, opening it, its state."""
