"""Checks of AWSNodeTemplates and EC2NodeClasses."""
