"""Campaigns: drafting, previewing, approving and steering journeys of many clusters; rollouts alone change those."""
