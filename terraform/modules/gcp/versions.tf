terraform {
  # 1.5 is the last Terraform that OpenTofu forked from; nothing here needs more.
  required_version = ">= 1.5"

  required_providers {
    google = {
      source = "hashicorp/google"
      # 6.50 is the last of 6 and what the tests run. 7 is left out until they run it too.
      version = ">= 6.50, < 7.0"
    }
  }
}
