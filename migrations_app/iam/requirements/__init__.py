"""requirements"""
