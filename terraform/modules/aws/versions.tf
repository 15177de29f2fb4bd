terraform {
  # 1.5 is the last Terraform that OpenTofu forked from; nothing here needs more.
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      # 5.100 is what the tests run. 6 is left out until they run it too.
      version = ">= 5.100, < 6.0"
    }
  }
}
