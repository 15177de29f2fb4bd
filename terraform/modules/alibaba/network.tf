# An own network of one vSwitch, or the vSwitch that was given.

locals {
  own_network   = var.subnet == ""
  given_subnets = flatten(data.alicloud_vswitches.given[*].vswitches)

  # No zone was said: the first, by name, that has the type to sell. The cloud leaves out zones that are sold out, so it
  # may be another one tomorrow; a machine that is there stays where it is. Where none has the type, the name of a zone
  # that is none makes the cloud refuse the vSwitch: a condition would also stop every later plan on the day of no stock.
  lives_in  = flatten([for found in data.alicloud_instances.own[*] : found.instances[*].availability_zone])
  sold_in   = sort(flatten([for found in data.alicloud_zones.sold[*] : found.zones[*].id]))
  zone_name = var.zone != "" ? var.zone : try(local.lives_in[0], local.sold_in[0], "no-zone-of-${var.region}")
}

data "alicloud_instances" "own" {
  count = local.own_network && var.zone == "" ? 1 : 0

  tags           = { "gpuorch:deployment" = var.deployment_id }
  enable_details = false
}

data "alicloud_zones" "sold" {
  count = local.own_network && var.zone == "" ? 1 : 0

  available_resource_creation = "VSwitch"
  available_instance_type     = var.instance_type
  available_disk_category     = "cloud_essd"
  instance_charge_type        = local.prepaid ? "PrePaid" : "PostPaid"
  spot_strategy               = local.spot ? "SpotAsPriceGo" : "NoSpot"
}

data "alicloud_vswitches" "given" {
  count = local.own_network ? 0 : 1

  ids = [var.subnet]
}

resource "alicloud_vpc" "own" {
  count = local.own_network ? 1 : 0

  vpc_name = local.resource_name
  # One machine lives here and nothing is peered with it, so any private block serves.
  cidr_block = "10.86.0.0/16"

  tags = local.tags
}

resource "alicloud_vswitch" "own" {
  count = local.own_network ? 1 : 0

  vswitch_name = local.resource_name
  vpc_id       = alicloud_vpc.own[0].id
  cidr_block   = cidrsubnet(alicloud_vpc.own[0].cidr_block, 8, 0)
  zone_id      = local.zone_name

  tags = local.tags
}
