# The machine itself. The network, the ways in and the rights stand in network.tf, access.tf and rights.tf.

locals {
  # The one place where a name is unavoidable; made of the id, because a deployment's name may come back.
  resource_name = "gpuorch-${var.deployment_id}"

  # Keys of free-form tags are ASCII without blanks, dots and colons; values are text of up to 256 characters.
  tag_text = {
    for key, value in merge(var.labels, {
      "gpuorch-name"       = var.name
      "gpuorch-profile"    = var.profile
      "gpuorch-owner"      = var.owner
      "gpuorch-expires-at" = var.expires_at
    }) : key => substr(replace(value, "/[^\\p{L}\\p{N}\\p{P}\\p{S} ]/", "_"), 0, 256)
    if value != ""
  }

  # Ours come last: a label must not be able to hide a machine from the search by tag.
  tags = merge(local.tag_text, {
    "gpuorch-deployment" = var.deployment_id
    "gpuorch-managed-by" = "gpuorch"
  })

  # ocid1.image.… as it is, or name:… for the newest of a line of images that fits the shape.
  image_name  = startswith(var.image, "name:") ? trimprefix(var.image, "name:") : ""
  found_image = try(data.oci_core_images.named[0].images[0].id, null)
  image_id    = local.image_name == "" ? var.image : local.found_image

  # cloud-init's own form for two things at once: what the caller gives, and what a machine needs here besides. The
  # boundary is made of the text that it bounds, so it cannot stand in it.
  boundary = "gpuorch-${sha256(var.user_data)}"
  user_data = join("\n", [
    "Content-Type: multipart/mixed; boundary=\"${local.boundary}\"",
    "MIME-Version: 1.0",
    "",
    "--${local.boundary}",
    "Content-Type: text/plain; charset=\"utf-8\"",
    "",
    var.user_data,
    "--${local.boundary}",
    "Content-Type: text/x-shellscript; charset=\"utf-8\"",
    "Content-Disposition: attachment; filename=\"gpuorch-machine\"",
    "",
    file("${path.module}/machine.py"),
    "--${local.boundary}--",
    "",
  ])

  # What the provider calls the two oldest regions in an instance's facts.
  region_names = { iad = "us-ashburn-1", phx = "us-phoenix-1" }
}

data "oci_core_images" "named" {
  count = local.image_name == "" ? 0 : 1

  compartment_id = var.compartment_id
  # By shape and by name: the first of all images may be made for other machines.
  shape      = var.instance_type
  state      = "AVAILABLE"
  sort_by    = "TIMECREATED"
  sort_order = "DESC"

  filter {
    name   = "display_name"
    values = [local.image_name]
    regex  = true
  }
}

resource "oci_core_instance" "machine" {
  compartment_id      = var.compartment_id
  availability_domain = local.availability_domain
  shape               = var.instance_type
  display_name        = lookup(local.tag_text, "gpuorch-name", local.resource_name)

  create_vnic_details {
    subnet_id = local.subnet_id
    nsg_ids   = oci_core_network_security_group.machine[*].id
    # An own network has no NAT gateway (it would cost more than the disk), so the machine needs an address to reach
    # package indexes. A given subnet decides for itself.
    assign_public_ip = local.own_network ? "true" : tostring(!data.oci_core_subnet.given[0].prohibit_public_ip_on_vnic)
    display_name     = local.resource_name
    freeform_tags    = local.tags
  }

  source_details {
    source_type             = "image"
    source_id               = local.image_id
    boot_volume_size_in_gbs = tostring(var.disk_gib)
  }

  metadata = merge(
    { user_data = base64gzip(local.user_data) },
    var.ssh_public_key == "" ? {} : { ssh_authorized_keys = var.ssh_public_key },
  )

  instance_options {
    # The first version of the metadata service answers any request that a process can be talked into.
    are_legacy_imds_endpoints_disabled = true
  }

  # At rest every disk is encrypted. On the way to it only virtual machines can be told to; the oldest GPU shape cannot.
  is_pv_encryption_in_transit_enabled = startswith(var.instance_type, "VM.") && !startswith(var.instance_type, "VM.GPU2.") ? true : null

  # The disk goes with the machine: by terraform here, by the machine itself in machine.py.
  preserve_boot_volume = false

  dynamic "preemptible_instance_config" {
    for_each = var.market == "spot" ? ["spot"] : []

    content {
      preemption_action {
        type                 = "TERMINATE"
        preserve_boot_volume = false
      }
    }
  }

  dynamic "shape_config" {
    for_each = var.flex_ocpus == null ? [] : [var.flex_ocpus]

    content {
      ocpus         = shape_config.value
      memory_in_gbs = var.flex_memory_gib
    }
  }

  freeform_tags = local.tags

  # Without the way out the bootstrap would start into a network that leads nowhere.
  depends_on = [
    oci_core_default_security_list.own,
    oci_core_network_security_group_security_rule.ssh,
  ]

  lifecycle {
    # source_id: a name: image means the newest one at the time of the launch. Tomorrow's image must not replace a
    # machine that is at work.
    # metadata: cloud-init reads it once, at the first boot; a change would replace the machine. To boot with other user
    # data or another key, make a new deployment.
    ignore_changes = [source_details[0].source_id, metadata]

    precondition {
      condition     = local.image_id != null
      error_message = "No image of ${var.region} is called ${local.image_name} and fits ${var.instance_type}."
    }

    precondition {
      condition     = local.availability_domain != null && local.sold_there
      error_message = "No availability domain ${var.zone == "" ? "" : "called ${var.zone} "}in ${var.region} offers ${var.instance_type}."
    }

    precondition {
      condition     = local.own_network || local.subnet_domain == "" || local.subnet_domain == local.availability_domain
      error_message = "Subnet ${var.subnet} is not in availability domain ${coalesce(local.availability_domain, "?")}."
    }

    precondition {
      condition     = var.machine_rights == "none" || var.home_region != ""
      error_message = "home_region must name the tenancy's home region, or machine_rights be none."
    }
  }
}
