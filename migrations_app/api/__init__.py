"""The REST API for other tools under /api/v1/: one module for each resource, each with its own small
serializers.

These modules check requests and shape answers. Deciding, reading rows and changing them belongs to the packages below.
"""
