"""Builds what tests start from: inventories, rows of the database, plans, AWS accounts."""
