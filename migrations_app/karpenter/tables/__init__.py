"""Tables of facts, one kind of fact in each module. Data only: a new Karpenter release is added as rows here."""
