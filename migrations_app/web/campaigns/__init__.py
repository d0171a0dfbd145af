"""Pages of campaigns: lists, the recipe, the board of waves, the calendar, the receipt, and their forms."""
