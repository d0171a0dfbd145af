"""What a conversion found and made, for people: findings by file and line, and old beside new."""
