"""Permissions of the Karpenter controller: what each release asks of AWS, and what a set of policies answers.

ranges.py    release numbers and the spans in which a fact holds
site.py      the names that fill a request: partition, region, account, cluster, node roles, queue
features.py  on which settings a request depends, and what is assumed when nobody says
probes.py    the requests of the controller, as rows; probe.py turns a row into a request
needs.py     why an action is needed and what its refusal does, as rows
grants.py    the narrow statements that allow the requests, as rows
policy.py    reading policy documents; pattern.py, conditions.py and evaluate.py judge a request by them
gaps.py      release + policies -> what is refused
trust.py     trust policy + who asks -> may they become the role
remedies.py  the smallest document that closes the gaps, merged or split; render.py and module.py write it down
asked.py     names and settings as somebody tells them -> the answer; written.py puts a remedy into the wanted form
removal.py   what may go after the hop; guess.py reads names of a site from policies

Policies, requests and verdicts belong here. Reading roles from AWS never does.
"""
