terraform {
  # 1.5 is the last Terraform that OpenTofu forked from; nothing here needs more.
  required_version = ">= 1.5"

  required_providers {
    alicloud = {
      source = "aliyun/alicloud"
      # 1.289 is what the tests' schema was written from; alicloud_ecs_ram_role_attachment came with 1.250.
      version = ">= 1.289, < 2.0"
    }
  }
}
