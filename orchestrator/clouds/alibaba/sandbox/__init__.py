"""Alibaba Cloud in the sandbox: the provider's schema, and rules for what the schema cannot say."""
