"""sign_in"""
