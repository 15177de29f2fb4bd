# What the machine itself may do: nothing, unless it keeps checkpoints.

locals {
  # gs://bucket/some/prefix → bucket, some/prefix
  checkpoint_parts  = var.checkpoint_uri == "" ? ["", ""] : regex("^gs://([^/]+)/?(.*)$", var.checkpoint_uri)
  checkpoint_bucket = local.checkpoint_parts[0]
  checkpoint_prefix = trim(local.checkpoint_parts[1], "/")

  # A service account's name has 30 characters at most.
  account_id = length(local.resource_name) <= 30 ? local.resource_name : "gpuorch-${substr(sha256(var.deployment_id), 0, 22)}"

  # Objects under the prefix, and lists of what is under it: a list is asked of the bucket, with the prefix beside it.
  # cloud.google.com/iam/docs/conditions-attribute-reference
  bucket_path = "projects/_/buckets/${local.checkpoint_bucket}"
  checkpoint_condition = local.checkpoint_prefix == "" ? "resource.name.startsWith(\"${local.bucket_path}\")" : join(" || ", [
    "resource.name.startsWith(\"${local.bucket_path}/objects/${local.checkpoint_prefix}/\")",
    "api.getAttribute(\"storage.googleapis.com/objectListPrefix\", \"\").startsWith(\"${local.checkpoint_prefix}/\")",
  ])
}

resource "google_service_account" "machine" {
  count = var.checkpoint_uri == "" ? 0 : 1

  account_id   = local.account_id
  display_name = local.resource_name
  # The bucket's name stands here so that the right on it is found again without a state.
  description = "${local.marker} bucket=${local.checkpoint_bucket}"
  project     = var.project
}

resource "google_storage_bucket_iam_member" "checkpoint" {
  count = var.checkpoint_uri == "" ? 0 : 1

  bucket = local.checkpoint_bucket
  # Read, write, list and delete objects, and nothing of the bucket itself.
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${google_service_account.machine[0].email}"

  condition {
    title       = local.resource_name
    description = local.marker
    expression  = local.checkpoint_condition
  }
}
