# What the machine itself may do: nothing, unless it keeps checkpoints.

locals {
  # cos://bucket-1250000000/some/prefix → bucket-1250000000, some/prefix
  checkpoint_parts  = var.checkpoint_uri == "" ? ["", ""] : regex("^cos://([^/]+)/?(.*)$", var.checkpoint_uri)
  checkpoint_bucket = local.checkpoint_parts[0]
  checkpoint_prefix = trim(local.checkpoint_parts[1], "/")

  needs_checkpoint = var.checkpoint_uri != ""

  # A bucket's name ends in the number of the account that owns it.
  bucket_owner = local.needs_checkpoint ? regex("[0-9]+$", local.checkpoint_bucket) : ""
  bucket       = "qcs::cos:${var.region}:uid/${local.bucket_owner}:${local.checkpoint_bucket}"
  objects      = local.checkpoint_prefix == "" ? "${local.bucket}/*" : "${local.bucket}/${local.checkpoint_prefix}/*"
}

resource "tencentcloud_cam_role" "machine" {
  count = local.needs_checkpoint ? 1 : 0

  name          = local.resource_name
  description   = "One machine made by gpuorch"
  console_login = false

  document = jsonencode({
    version = "2.0"
    statement = [{
      action    = ["name/sts:AssumeRole"]
      effect    = "allow"
      principal = { service = ["cvm.qcloud.com"] }
    }]
  })

  tags = local.tags
}

# Carries no tag: it is found by its name, and by hanging on the role.
resource "tencentcloud_cam_policy" "checkpoint" {
  count = local.needs_checkpoint ? 1 : 0

  name        = local.resource_name
  description = "Checkpoints of one machine made by gpuorch"

  document = jsonencode({
    version = "2.0"
    statement = [
      {
        effect = "allow"
        action = [
          # A listing is held to the prefix by the resource, like the rest.
          "name/cos:GetBucket",
          "name/cos:HeadObject",
          "name/cos:GetObject",
          "name/cos:PutObject",
          "name/cos:DeleteObject",
          "name/cos:InitiateMultipartUpload",
          "name/cos:UploadPart",
          "name/cos:ListParts",
          "name/cos:CompleteMultipartUpload",
          "name/cos:AbortMultipartUpload",
        ]
        resource = [local.objects]
      },
    ]
  })
}

resource "tencentcloud_cam_role_policy_attachment" "checkpoint" {
  count = local.needs_checkpoint ? 1 : 0

  role_id   = tencentcloud_cam_role.machine[0].id
  policy_id = tencentcloud_cam_policy.checkpoint[0].id
}
