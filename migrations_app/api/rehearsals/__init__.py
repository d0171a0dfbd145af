"""REST of the rehearsals of plans: serializers and endpoints."""
