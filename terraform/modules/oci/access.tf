# Who reaches the machine: port 22 from the stated addresses, or nobody.

locals {
  # The own network has no IPv6, so such an address cannot come from there.
  ssh_cidrs = var.access == "ssh" ? toset([for cidr in var.ssh_allowed_cidrs : cidr if !(local.own_network && strcontains(cidr, ":"))]) : toset([])
}

resource "oci_core_network_security_group" "machine" {
  count = length(local.ssh_cidrs) > 0 ? 1 : 0

  compartment_id = var.compartment_id
  vcn_id         = local.vcn_id
  display_name   = local.resource_name
  freeform_tags  = local.tags
}

resource "oci_core_network_security_group_security_rule" "ssh" {
  for_each = local.ssh_cidrs

  network_security_group_id = oci_core_network_security_group.machine[0].id
  description               = "SSH from the stated addresses"
  direction                 = "INGRESS"
  protocol                  = "6"
  source                    = each.value
  source_type               = "CIDR_BLOCK"

  tcp_options {
    destination_port_range {
      min = 22
      max = 22
    }
  }
}
