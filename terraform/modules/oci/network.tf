# An own network of one public subnet, or the subnet that was given; and the availability domain.

locals {
  own_network = var.subnet == ""
  subnet_id   = local.own_network ? oci_core_subnet.own[0].id : var.subnet
  vcn_id      = local.own_network ? oci_core_vcn.own[0].id : data.oci_core_subnet.given[0].vcn_id

  # Empty for a subnet of the whole region, which is the rule.
  subnet_domain = try(coalesce(data.oci_core_subnet.given[0].availability_domain), "")

  # OCI puts the tenancy's own prefix before a domain's name: Uocm:PHX-AD-1. So the end of it is enough: AD-1, PHX-AD-1.
  domains = data.oci_identity_availability_domains.all.availability_domains[*].name
  named   = [for name in local.domains : name if name == var.zone || endswith(name, ":${var.zone}") || endswith(name, "-${var.zone}")]
  # No zone was said: the first, by name, that sells the shape, so that the same question has the same answer.
  selling             = distinct([for row in data.oci_core_shapes.sold : row.availability_domain if length(row.shapes) > 0])
  availability_domain = var.zone == "" ? try(sort(local.selling)[0], null) : try(local.named[0], null)
  sold_there          = contains(local.selling, coalesce(local.availability_domain, "none"))
}

data "oci_identity_availability_domains" "all" {
  compartment_id = var.compartment_id
}

data "oci_core_shapes" "sold" {
  # A region has one domain or three. A fixed number, so that nothing here has to be known before the plan; of one domain
  # the same is asked three times.
  count = 3

  compartment_id      = var.compartment_id
  availability_domain = element(local.domains, count.index)

  filter {
    name   = "name"
    values = [var.instance_type]
  }
}

data "oci_core_subnet" "given" {
  count = local.own_network ? 0 : 1

  subnet_id = var.subnet
}

resource "oci_core_vcn" "own" {
  count = local.own_network ? 1 : 0

  compartment_id = var.compartment_id
  # One machine lives here and nothing is peered with it, so any private block serves.
  cidr_blocks   = ["10.86.0.0/24"]
  display_name  = local.resource_name
  freeform_tags = local.tags
}

# A new network's own list opens port 22 to the whole internet. Here it lets everything out and nobody in; who may come
# in is said in access.tf.
resource "oci_core_default_security_list" "own" {
  count = local.own_network ? 1 : 0

  manage_default_resource_id = oci_core_vcn.own[0].default_security_list_id
  display_name               = local.resource_name

  egress_security_rules {
    description = "Packages, data and checkpoints"
    protocol    = "all"
    destination = "0.0.0.0/0"
  }

  freeform_tags = local.tags
}

resource "oci_core_internet_gateway" "own" {
  count = local.own_network ? 1 : 0

  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.own[0].id
  display_name   = local.resource_name
  freeform_tags  = local.tags
}

resource "oci_core_route_table" "own" {
  count = local.own_network ? 1 : 0

  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.own[0].id
  display_name   = local.resource_name

  route_rules {
    destination       = "0.0.0.0/0"
    destination_type  = "CIDR_BLOCK"
    network_entity_id = oci_core_internet_gateway.own[0].id
  }

  freeform_tags = local.tags
}

resource "oci_core_subnet" "own" {
  count = local.own_network ? 1 : 0

  compartment_id             = var.compartment_id
  vcn_id                     = oci_core_vcn.own[0].id
  cidr_block                 = oci_core_vcn.own[0].cidr_blocks[0]
  route_table_id             = oci_core_route_table.own[0].id
  security_list_ids          = [oci_core_default_security_list.own[0].id]
  prohibit_public_ip_on_vnic = false
  display_name               = local.resource_name
  freeform_tags              = local.tags
}
