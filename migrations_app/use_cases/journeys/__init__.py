"""Journeys: drafts, previews, approves and works through the steps of one hop. Only rollouts change clusters."""
