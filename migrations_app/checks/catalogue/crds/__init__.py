"""crds"""
