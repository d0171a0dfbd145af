"""node_classes"""
