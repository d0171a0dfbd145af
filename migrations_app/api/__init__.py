"""REST for other tools, one module a resource, each with its own small serializers."""
