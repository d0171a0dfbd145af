"""REST for other tools under /api/v1/: one module a resource, each with its own small serializers.

Deciding, reading rows and changing them belongs to the packages below; here requests are checked and answers shaped.
"""
