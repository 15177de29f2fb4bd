terraform {
  required_version = ">= 1.5"

  required_providers {
    homelab = {
      source  = "example/homelab"
      version = ">= 1.0, < 2.0"
    }
  }
}
