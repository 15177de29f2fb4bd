terraform {
  # 1.5 is the last Terraform that OpenTofu forked from; nothing here needs more.
  required_version = ">= 1.5"

  required_providers {
    azurerm = {
      source = "hashicorp/azurerm"
      # 4.55 is what the sandbox's schema is of. 5 is left out until the tests run it.
      version = ">= 4.55, < 5.0"
    }
  }
}
