"""What was seen in one cluster at one moment.

Values, their decoding, cleaning, ownership and fingerprints belong here. Judging and fetching never do."""
