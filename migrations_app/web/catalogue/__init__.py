"""Pages of the catalogue of checks and of the glossary."""
