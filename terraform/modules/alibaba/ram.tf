# What the machine itself may do: nothing, unless it keeps checkpoints.

locals {
  # oss://bucket/some/prefix → bucket, some/prefix
  checkpoint_parts  = var.checkpoint_uri == "" ? ["", ""] : regex("^oss://([^/]+)/?(.*)$", var.checkpoint_uri)
  checkpoint_bucket = local.checkpoint_parts[0]
  checkpoint_prefix = trim(local.checkpoint_parts[1], "/")

  needs_role = var.checkpoint_uri != ""

  bucket_arn = "acs:oss:*:*:${local.checkpoint_bucket}"

  checkpoint_list = merge(
    {
      Effect   = "Allow"
      Action   = ["oss:ListObjects"]
      Resource = [local.bucket_arn]
    },
    local.checkpoint_prefix == "" ? {} : {
      Condition = {
        StringLike = {
          "oss:Prefix" = [local.checkpoint_prefix, "${local.checkpoint_prefix}/*"]
        }
      }
    }
  )

  checkpoint_objects = {
    Effect = "Allow"
    Action = [
      "oss:GetObject",
      "oss:PutObject",
      "oss:DeleteObject",
      "oss:AbortMultipartUpload",
      "oss:ListParts",
    ]
    Resource = [local.checkpoint_prefix == "" ? "${local.bucket_arn}/*" : "${local.bucket_arn}/${local.checkpoint_prefix}/*"]
  }
}

resource "alicloud_ram_role" "machine" {
  count = local.needs_role ? 1 : 0

  role_name   = local.resource_name
  description = "One machine made by gpuorch"

  assume_role_policy_document = jsonencode({
    Version = "1"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = ["ecs.aliyuncs.com"] }
    }]
  })

  tags = local.tags
}

resource "alicloud_ram_policy" "checkpoint" {
  count = local.needs_role ? 1 : 0

  policy_name = local.resource_name
  description = "Checkpoints of one machine made by gpuorch"

  policy_document = jsonencode({
    Version   = "1"
    Statement = [local.checkpoint_list, local.checkpoint_objects]
  })

  tags = local.tags
}

resource "alicloud_ram_role_policy_attachment" "checkpoint" {
  count = local.needs_role ? 1 : 0

  role_name   = alicloud_ram_role.machine[0].role_name
  policy_name = alicloud_ram_policy.checkpoint[0].policy_name
  policy_type = "Custom"
}

# The argument role_name of alicloud_instance, which did the same, is deprecated.
resource "alicloud_ecs_ram_role_attachment" "machine" {
  count = local.needs_role ? 1 : 0

  instance_id   = alicloud_instance.machine.id
  ram_role_name = alicloud_ram_role.machine[0].role_name

  # The role with its rights first, so that the machine never has one without the other.
  depends_on = [alicloud_ram_role_policy_attachment.checkpoint]
}
