# The module by hand, without gpuorch: one GPU machine on spot, reached by SSH from one address.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

provider "aws" {
  region = var.region

  # Without this the provider repeats a launch for which there is no capacity, for many minutes.
  max_retries = 3
}

module "machine" {
  source = "../../terraform/modules/aws"

  deployment_id      = "byhand0001"
  name               = "by-hand"
  owner              = "me"
  region             = var.region
  instance_type      = var.instance_type
  market             = "spot"
  max_price_per_hour = var.max_price_per_hour
  image              = var.image
  user_data          = file("${path.module}/cloud-init.yaml")
  access             = "ssh"
  ssh_public_key     = var.ssh_public_key
  ssh_allowed_cidrs  = [var.my_address]
  disk_gib           = 200

  labels = {
    team = "vision"
  }
}
