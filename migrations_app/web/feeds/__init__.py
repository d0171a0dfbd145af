"""Feeds that are read without a sign-in, by the secret in their URL: badges, calendars, news."""
