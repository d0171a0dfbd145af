"""Carries out the steps of a plan, and proves them beforehand, through ports. Knows no rows and no Django."""
