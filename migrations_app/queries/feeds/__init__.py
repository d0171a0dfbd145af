"""What feeds show: the facts of a badge, the entries of a calendar, and news. All of it within the caller's sight."""
