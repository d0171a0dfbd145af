"""node_pools"""
