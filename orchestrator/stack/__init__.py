"""From a launch to a Terraform root and its cloud-init text, as data."""
