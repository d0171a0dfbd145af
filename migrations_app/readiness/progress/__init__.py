"""Progress of the two conversions: what a scan left to do, the curve of it over days, and the share that is done."""
