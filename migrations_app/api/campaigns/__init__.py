"""REST of campaigns: serializers and endpoints."""
