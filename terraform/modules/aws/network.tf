# An own network of one public subnet, or the subnet that was given.

locals {
  own_network = var.subnet == ""

  # AWS has two names for a zone: us-east-1a, which each account maps for itself, and use1-az4, the same for everybody.
  # Only the second kind ends in -az and a number (a Local Zone's id too: usw2-lax1-az1).
  zone_is_id = can(regex("-az[0-9]+$", var.zone))

  # No zone was said: the first, by name, that sells the type, so that the same question has the same answer.
  found_zones = sort(flatten(data.aws_ec2_instance_type_offerings.zones[*].locations))
  zone_name   = var.zone != "" ? var.zone : try(local.found_zones[0], null)
}

data "aws_ec2_instance_type_offerings" "zones" {
  count = local.own_network && var.zone == "" ? 1 : 0

  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [var.instance_type]
  }
}

data "aws_subnet" "given" {
  count = local.own_network ? 0 : 1

  id = var.subnet
}

resource "aws_vpc" "own" {
  count = local.own_network ? 1 : 0

  # One machine lives here and nothing is peered with it, so any private block serves. DNS host names stay off: nothing
  # needs them, and the provider waits ten seconds to see them on.
  cidr_block = "10.86.0.0/24"

  tags = local.tags
}

resource "aws_internet_gateway" "own" {
  count = local.own_network ? 1 : 0

  vpc_id = aws_vpc.own[0].id

  tags = local.tags
}

resource "aws_subnet" "own" {
  count = local.own_network ? 1 : 0

  vpc_id               = aws_vpc.own[0].id
  cidr_block           = aws_vpc.own[0].cidr_block
  availability_zone    = local.zone_is_id ? null : local.zone_name
  availability_zone_id = local.zone_is_id ? var.zone : null

  tags = local.tags

  lifecycle {
    precondition {
      condition     = var.zone != "" || length(local.found_zones) > 0
      error_message = "No zone of ${var.region} offers ${var.instance_type}."
    }
  }
}

resource "aws_route_table" "own" {
  count = local.own_network ? 1 : 0

  vpc_id = aws_vpc.own[0].id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.own[0].id
  }

  tags = local.tags
}

resource "aws_route_table_association" "own" {
  count = local.own_network ? 1 : 0

  subnet_id      = aws_subnet.own[0].id
  route_table_id = aws_route_table.own[0].id
}
