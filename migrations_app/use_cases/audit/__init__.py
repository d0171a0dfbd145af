"""Writing, signing, delivering and archiving the audit log."""
