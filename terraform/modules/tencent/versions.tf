terraform {
  required_version = ">= 1.5"

  required_providers {
    tencentcloud = {
      source = "tencentcloudstack/tencentcloud"
      # The first that is known to encrypt system disks.
      version = ">= 1.83.25, < 2.0"
    }
  }
}
