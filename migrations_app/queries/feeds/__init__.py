"""The content of feeds: values of badges, entries of the calendar, and news. All limited to what the caller may see."""
