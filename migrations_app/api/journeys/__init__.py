"""REST of journeys: serializers and endpoints."""
