"""What we have: deployments, their attempts and events, and remembered failures, in one SQLite file."""
