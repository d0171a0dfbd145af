"""Pages about karpdash itself: audit log, catalogue of checks, notifications, people, tokens."""
