# One machine. The room wipes and frees a machine that powers itself off, so a time limit set inside it holds; its disk
# is encrypted, and it stands in a network of its own unless another is named.

resource "homelab_machine" "machine" {
  room        = var.region
  rack        = var.zone == "" ? null : var.zone
  type        = var.instance_type
  market      = var.market
  price_limit = var.market == "spot" ? var.max_price_per_hour : null

  image          = var.image
  user_data      = var.user_data
  disk_gib       = var.disk_gib
  network        = var.subnet == "" ? null : var.subnet
  authorized_key = var.ssh_public_key == "" ? null : var.ssh_public_key
  ssh_from       = var.access == "ssh" ? var.ssh_allowed_cidrs : []

  # Ours come last: a label of the user's must not be able to hide a machine from the search by tag.
  labels = merge(
    var.labels,
    { for key, value in {
      "gpuorch:name"       = var.name
      "gpuorch:owner"      = var.owner
      "gpuorch:profile"    = var.profile
      "gpuorch:expires-at" = var.expires_at
    } : key => value if value != "" },
    { "gpuorch:deployment" = var.deployment_id },
  )

  lifecycle {
    # cloud-init reads it once, at the first boot: a change must not replace a machine that is at work.
    ignore_changes = [user_data]

    precondition {
      condition     = var.access != "session" && var.checkpoint_uri == ""
      error_message = "Homelab has no session service and no object store."
    }
  }
}
