"""aws_facts"""
