terraform {
  # 1.5 is the last Terraform that OpenTofu forked from; nothing here needs more.
  required_version = ">= 1.5"

  required_providers {
    oci = {
      source = "oracle/oci"
      # 7.19 is what the tests run. 8 is left out until they run it too.
      version = ">= 7.19, < 8.0"
      # Rights are written in the tenancy's home region only, wherever the machine is.
      configuration_aliases = [oci.home]
    }
  }
}
