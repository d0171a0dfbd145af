"""helm"""
