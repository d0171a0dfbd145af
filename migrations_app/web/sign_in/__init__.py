"""Pages for signing in, by password or single sign-on."""
