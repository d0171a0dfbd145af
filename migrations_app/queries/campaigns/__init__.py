"""Reading campaigns: lists, the board of a campaign, and required approvals."""
