# Who reaches the machine: port 22 from the stated addresses, or nobody.

locals {
  ssh_cidrs    = var.access == "ssh" ? var.ssh_allowed_cidrs : []
  ssh_cidrs_v6 = [for cidr in local.ssh_cidrs : cidr if strcontains(cidr, ":")]
  ssh_cidrs_v4 = [for cidr in local.ssh_cidrs : cidr if !strcontains(cidr, ":")]
}

resource "tencentcloud_security_group" "machine" {
  name        = local.resource_name
  description = "One machine made by gpuorch"

  tags = local.tags
}

# All rules of the group: one that somebody adds by hand is drift that the next plan shows and takes away.
resource "tencentcloud_security_group_rule_set" "machine" {
  security_group_id = tencentcloud_security_group.machine.id

  dynamic "ingress" {
    for_each = local.ssh_cidrs_v4

    content {
      action      = "ACCEPT"
      cidr_block  = ingress.value
      protocol    = "TCP"
      port        = "22"
      description = "SSH from the stated addresses"
    }
  }

  dynamic "ingress" {
    for_each = local.ssh_cidrs_v6

    content {
      action          = "ACCEPT"
      ipv6_cidr_block = ingress.value
      protocol        = "TCP"
      port            = "22"
      description     = "SSH from the stated addresses"
    }
  }

  egress {
    action      = "ACCEPT"
    cidr_block  = "0.0.0.0/0"
    protocol    = "ALL"
    port        = "ALL"
    description = "Packages, data and checkpoints"
  }

  egress {
    action          = "ACCEPT"
    ipv6_cidr_block = "::/0"
    protocol        = "ALL"
    port            = "ALL"
    description     = "Packages, data and checkpoints"
  }
}

resource "tencentcloud_key_pair" "user" {
  count = var.ssh_public_key == "" ? 0 : 1

  # Letters, digits and underscores, 25 at most.
  key_name = local.key_name
  # Tencent does not keep the comment behind a key, which would then differ for ever.
  public_key = join(" ", slice(split(" ", replace(trimspace(var.ssh_public_key), "/\\s+/", " ")), 0, 2))

  tags = local.tags

  lifecycle {
    # A new key does not reach a running machine.
    ignore_changes = [public_key]
  }
}

locals {
  key_name = substr("gpuorch_${var.deployment_id}", 0, 25)
}
