"""What Django asks of a sign-in: sessions, password rules, and how many attempts are allowed."""
