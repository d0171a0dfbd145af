"""The permission matrix of the IAM page: releases by actions, as values."""
