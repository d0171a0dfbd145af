"""Journeys: drafting, previewing, approving and doing the steps of one hop. Clusters are changed by rollouts alone."""
