# What the machine itself may do: nothing, unless it is reached by the session service or keeps checkpoints.

locals {
  # s3://bucket/some/prefix → bucket, some/prefix
  checkpoint_parts  = var.checkpoint_uri == "" ? ["", ""] : regex("^s3://([^/]+)/?(.*)$", var.checkpoint_uri)
  checkpoint_bucket = local.checkpoint_parts[0]
  checkpoint_prefix = trim(local.checkpoint_parts[1], "/")

  needs_session    = var.access == "session"
  needs_checkpoint = var.checkpoint_uri != ""
  needs_role       = local.needs_session || local.needs_checkpoint

  partition  = one(data.aws_partition.current[*].partition)
  bucket_arn = "arn:${coalesce(local.partition, "aws")}:s3:::${local.checkpoint_bucket}"

  checkpoint_list = merge(
    {
      Sid      = "ListUnderThePrefix"
      Effect   = "Allow"
      Action   = "s3:ListBucket"
      Resource = local.bucket_arn
    },
    local.checkpoint_prefix == "" ? {} : {
      Condition = {
        StringLike = {
          "s3:prefix" = [local.checkpoint_prefix, "${local.checkpoint_prefix}/*"]
        }
      }
    }
  )

  checkpoint_objects = {
    Sid    = "ObjectsUnderThePrefix"
    Effect = "Allow"
    Action = [
      "s3:GetObject",
      "s3:PutObject",
      "s3:DeleteObject",
      "s3:AbortMultipartUpload",
    ]
    Resource = local.checkpoint_prefix == "" ? "${local.bucket_arn}/*" : "${local.bucket_arn}/${local.checkpoint_prefix}/*"
  }
}

data "aws_partition" "current" {
  count = local.needs_role ? 1 : 0
}

resource "aws_iam_role" "machine" {
  count = local.needs_role ? 1 : 0

  name        = local.resource_name
  description = "One machine made by gpuorch"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })

  tags = local.tags
}

resource "aws_iam_role_policy" "checkpoint" {
  count = local.needs_checkpoint ? 1 : 0

  name = "checkpoint"
  role = aws_iam_role.machine[0].id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [local.checkpoint_list, local.checkpoint_objects]
  })
}

resource "aws_iam_role_policy_attachment" "session" {
  count = local.needs_session ? 1 : 0

  role       = aws_iam_role.machine[0].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"
}

resource "aws_iam_instance_profile" "machine" {
  count = local.needs_role ? 1 : 0

  name = local.resource_name
  role = aws_iam_role.machine[0].name

  tags = local.tags
}
