"""Network and file access: Kubernetes API servers, offline bundles, Helm release records, AWS, mail.

Every outside call of the product is made here, behind protocols such as `ClusterApi`, `Writer` and `AwsApi`.
Database rows and web pages do not belong here.
"""
