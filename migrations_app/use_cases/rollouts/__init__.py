"""From a draft to a finished rollout: preview, approval, execution, rollback, policies."""
