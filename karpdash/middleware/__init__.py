"""Middleware for every request and response: client address, request id, headers. No page is rendered here."""
