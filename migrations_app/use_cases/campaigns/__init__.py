"""Campaigns: drafts, previews, approves and controls the journeys of many clusters. Only rollouts change clusters."""
