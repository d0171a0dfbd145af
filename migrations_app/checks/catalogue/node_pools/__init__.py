"""Checks of Provisioners and NodePools."""
