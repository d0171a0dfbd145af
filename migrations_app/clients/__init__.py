"""The network and files: API servers, bundles, Helm records.

Every outside call of the product is here, behind `port.py`. Rows and pages never are."""
