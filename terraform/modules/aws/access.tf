# Who reaches the machine: port 22 from the stated addresses, the session service, or nobody.

locals {
  ssh_cidrs    = var.access == "ssh" ? var.ssh_allowed_cidrs : []
  ssh_cidrs_v6 = [for cidr in local.ssh_cidrs : cidr if strcontains(cidr, ":")]
  ssh_cidrs_v4 = [for cidr in local.ssh_cidrs : cidr if !strcontains(cidr, ":")]
}

# The rules stand inside the group, not as resources of their own: a rule that somebody adds by hand is then drift that
# the next plan shows and takes away.
resource "aws_security_group" "machine" {
  name        = local.resource_name
  description = "One machine made by gpuorch"
  vpc_id      = local.own_network ? aws_vpc.own[0].id : data.aws_subnet.given[0].vpc_id

  # Written as a list, because no block at all would mean "whatever is there": an empty list means none. A list has to
  # name every attribute.
  ingress = [for port in length(local.ssh_cidrs) > 0 ? [22] : [] : {
    description      = "SSH from the stated addresses"
    protocol         = "tcp"
    from_port        = port
    to_port          = port
    cidr_blocks      = local.ssh_cidrs_v4
    ipv6_cidr_blocks = local.ssh_cidrs_v6
    prefix_list_ids  = []
    security_groups  = []
    self             = false
  }]

  egress {
    description      = "Packages, data and checkpoints"
    protocol         = "-1"
    from_port        = 0
    to_port          = 0
    cidr_blocks      = ["0.0.0.0/0"]
    ipv6_cidr_blocks = ["::/0"]
  }

  tags = local.tags
}

resource "aws_key_pair" "user" {
  count = var.ssh_public_key == "" ? 0 : 1

  key_name   = local.resource_name
  public_key = var.ssh_public_key

  tags = local.tags

  lifecycle {
    # Terraform cannot read the key back after an import, and a new key does not reach a running machine anyway.
    ignore_changes = [public_key]
  }
}
