# An own network of one subnet, or the subnet that was given.

locals {
  own_network = var.subnet == ""
  public      = local.own_network || var.access == "ssh"

  given_subnet = try(data.tencentcloud_vpc_subnets.given[0].instance_list[0], null)

  # No zone was said: the first, by name, that has the type on sale, so that the same question has the same answer.
  found_zones = sort(distinct([
    for type in flatten(data.tencentcloud_instance_types.sold[*].instance_types) : type.availability_zone
    if type.instance_type == var.instance_type
  ]))
  zone_name = (
    !local.own_network ? try(local.given_subnet.availability_zone, "") :
    var.zone != "" ? var.zone :
    try(local.found_zones[0], "")
  )
}

data "tencentcloud_instance_types" "sold" {
  count = local.own_network && var.zone == "" ? 1 : 0

  exclude_sold_out = true

  filter {
    name   = "instance-family"
    values = [split(".", var.instance_type)[0]]
  }

  filter {
    name   = "instance-charge-type"
    values = [local.charge_type]
  }
}

data "tencentcloud_vpc_subnets" "given" {
  count = local.own_network ? 0 : 1

  subnet_id = var.subnet

  lifecycle {
    postcondition {
      condition     = length(self.instance_list) == 1
      error_message = "There is no subnet ${var.subnet} in ${var.region}."
    }
  }
}

resource "tencentcloud_vpc" "own" {
  count = local.own_network ? 1 : 0

  # One machine lives here and nothing is peered with it, so any private block serves.
  name         = local.resource_name
  cidr_block   = "10.86.0.0/24"
  is_multicast = false

  tags = local.tags
}

resource "tencentcloud_subnet" "own" {
  count = local.own_network ? 1 : 0

  name              = local.resource_name
  vpc_id            = tencentcloud_vpc.own[0].id
  cidr_block        = tencentcloud_vpc.own[0].cidr_block
  availability_zone = local.zone_name
  is_multicast      = false

  tags = local.tags

  lifecycle {
    precondition {
      condition     = local.zone_name != ""
      error_message = "No zone of ${var.region} has ${var.instance_type} on sale (${local.charge_type})."
    }
  }
}
