"""Rules on single documents: schema, patches, selectors, metadata, ownership of fields. Pure: no store, no clock."""
