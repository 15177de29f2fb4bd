"""OCI in the sandbox: the provider's real schema, and rules for what the schema cannot say."""
