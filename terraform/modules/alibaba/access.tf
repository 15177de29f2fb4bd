# Who reaches the machine: port 22 from the stated addresses, or nobody.

locals {
  ssh_cidrs = var.access == "ssh" ? var.ssh_allowed_cidrs : []
}

# A group of the kind "normal" lets everything out and nothing in; what may come in are rules of their own.
resource "alicloud_security_group" "machine" {
  security_group_name = local.resource_name
  description         = "One machine made by gpuorch"
  vpc_id              = local.own_network ? alicloud_vpc.own[0].id : one(local.given_subnets[*].vpc_id)
  security_group_type = "normal"
  # Not even another machine that somebody puts into this group.
  inner_access_policy = "Drop"

  tags = local.tags
}

resource "alicloud_security_group_rule" "ssh" {
  for_each = toset(local.ssh_cidrs)

  description       = "SSH from a stated address"
  security_group_id = alicloud_security_group.machine.id
  type              = "ingress"
  # What the provider wants for every group in a VPC; the rule holds for the internet as well.
  nic_type     = "intranet"
  policy       = "accept"
  priority     = 1
  ip_protocol  = "tcp"
  port_range   = "22/22"
  cidr_ip      = strcontains(each.value, ":") ? null : each.value
  ipv6_cidr_ip = strcontains(each.value, ":") ? each.value : null
}

resource "alicloud_ecs_key_pair" "user" {
  count = var.ssh_public_key == "" ? 0 : 1

  key_pair_name = local.resource_name
  public_key    = var.ssh_public_key

  tags = local.tags

  lifecycle {
    # Terraform cannot read the key back after an import, and a new key does not reach a running machine anyway.
    ignore_changes = [public_key]
  }
}
