# What the machine itself may do: end itself, and use the checkpoint prefix. It is named by its own id, so no dynamic group
# (which only the tenancy's administrators may make) is needed.

locals {
  # oci://bucket@namespace.region/some/prefix → bucket, some/prefix
  checkpoint_parts  = var.checkpoint_uri == "" ? ["", ""] : regex("^oci://([^@]+)@[^/]+/?(.*)$", var.checkpoint_uri)
  checkpoint_bucket = local.checkpoint_parts[0]
  checkpoint_prefix = trim(local.checkpoint_parts[1], "/")
  checkpoint_names  = local.checkpoint_prefix == "" ? "*" : "${local.checkpoint_prefix}/*"

  scope = startswith(var.compartment_id, "ocid1.tenancy.") ? "tenancy" : "compartment id ${var.compartment_id}"
  this  = "request.principal.type = 'instance', request.principal.id = '${oci_core_instance.machine.id}'"

  statements = concat(
    [
      "Allow any-user to {INSTANCE_DELETE, INSTANCE_READ} in ${local.scope} where all {${local.this}, target.instance.id = '${oci_core_instance.machine.id}'}",
      # A termination takes the machine's interface and disk along. These rights hold in that call only, and the call
      # only for this machine, by the statement above.
      "Allow any-user to {VNIC_DELETE, VNIC_DETACH, SUBNET_DETACH, VOLUME_ATTACHMENT_DELETE, VOLUME_WRITE, VOLUME_DELETE, INSTANCE_DETACH_VOLUME} in ${local.scope} where all {${local.this}, request.operation = 'TerminateInstance'}",
    ],
    var.checkpoint_uri == "" ? [] : [
      "Allow any-user to {OBJECT_INSPECT, OBJECT_READ, OBJECT_CREATE, OBJECT_OVERWRITE, OBJECT_DELETE} in ${local.scope} where all {${local.this}, target.bucket.name = '${local.checkpoint_bucket}', target.object.name = '${local.checkpoint_names}'}",
    ],
  )
}

resource "oci_identity_policy" "machine" {
  count = var.machine_rights == "policy" ? 1 : 0

  provider = oci.home

  compartment_id = var.compartment_id
  name           = local.resource_name
  description    = "One machine made by gpuorch"
  statements     = local.statements
  freeform_tags  = local.tags
}
