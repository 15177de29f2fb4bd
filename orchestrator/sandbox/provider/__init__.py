"""The stand-in provider: Terraform's plugin protocol 6 over a schema, a cloud's rules and the simulated cloud."""
