"""Reading campaigns: lists, the board of one, and who has to agree."""
