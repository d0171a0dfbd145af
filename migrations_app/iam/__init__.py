"""IAM permissions of the Karpenter controller: what each release requests from AWS, and whether a set of policies
allows it.

This package evaluates policies in general: policy.py reads documents; patterns.py, conditions.py and evaluate.py
evaluate a request; trust.py and queue_policy.py evaluate trust and queue policies; site.py holds the names that
fill a request, partitions.py what differs between the partitions of AWS. The package requirements holds what Karpenter
needs by release, the gaps, and the statements that close them.
Policies, requests and verdicts belong here. Reading roles from AWS does not.
"""
