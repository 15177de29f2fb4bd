# The machine itself. The network, the ways in and the rights stand in network.tf, access.tf and iam.tf.

locals {
  # The one place where a name is unavoidable; made of the id, because a deployment's name may come back.
  resource_name = "gpuorch-${var.deployment_id}"

  # IAM takes fewer characters in a tag than EC2 does; the same value must serve both. 256 is the longest for all.
  tag_text = {
    for key, value in {
      "gpuorch:name"       = var.name
      "gpuorch:profile"    = var.profile
      "gpuorch:owner"      = var.owner
      "gpuorch:expires-at" = var.expires_at
    } : key => substr(replace(value, "/[^\\p{L}\\p{N} _.:\\/=+@-]/", "_"), 0, 256)
    if value != ""
  }

  # Ours come last: a label must not be able to hide a machine from the search by tag.
  tags = merge(
    { Name = lookup(local.tag_text, "gpuorch:name", local.resource_name) },
    var.labels,
    local.tag_text,
    {
      "gpuorch:deployment" = var.deployment_id
      "gpuorch:managed-by" = "gpuorch"
    },
  )

  # ami-0123… as it is, or ssm:/aws/service/… for the newest of a line of images.
  image_parameter = startswith(var.image, "ssm:") ? trimprefix(var.image, "ssm:") : ""
}

data "aws_ssm_parameter" "image" {
  count = local.image_parameter == "" ? 0 : 1

  name = local.image_parameter
}

resource "aws_instance" "machine" {
  # An image's id is no secret, and a plan that hides it cannot be reviewed.
  ami           = local.image_parameter == "" ? var.image : nonsensitive(data.aws_ssm_parameter.image[0].value)
  instance_type = var.instance_type

  subnet_id              = local.own_network ? aws_subnet.own[0].id : var.subnet
  vpc_security_group_ids = [aws_security_group.machine.id]

  # An own network has no NAT gateway (it would cost more than the disk), so the machine needs an address to reach package
  # indexes; said here, because the provider waits ten seconds for a subnet that says so. A given subnet keeps its own
  # setting.
  associate_public_ip_address = local.own_network ? true : null

  key_name             = one(aws_key_pair.user[*].key_name)
  iam_instance_profile = one(aws_iam_instance_profile.machine[*].name)

  user_data = var.user_data

  # The machine powers itself off when its time is over, also when nobody is there to destroy it; powered off must
  # mean gone, not stopped with its disk still paid for.
  instance_initiated_shutdown_behavior = "terminate"

  monitoring = false

  dynamic "instance_market_options" {
    for_each = var.market == "spot" ? ["spot"] : []

    content {
      market_type = "spot"

      spot_options {
        # One-time: a persistent request would start the machine again after it was ended.
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
        max_price                      = var.max_price_per_hour
      }
    }
  }

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
    # Two, so that a container on the machine reaches it as well.
    http_put_response_hop_limit = 2
  }

  root_block_device {
    volume_type           = "gp3"
    volume_size           = var.disk_gib
    encrypted             = true
    delete_on_termination = true
  }

  tags = local.tags
  # Given with the launch itself, so that a disk is tagged even if terraform is killed right after it; the tags of
  # root_block_device are set by a later call.
  volume_tags = local.tags

  # Without the route and the rights the bootstrap would start into a network that leads nowhere.
  depends_on = [
    aws_route_table_association.own,
    aws_iam_role_policy.checkpoint,
    aws_iam_role_policy_attachment.session,
  ]

  lifecycle {
    # ami: an ssm: image means the newest one at the time of the launch. Tomorrow's image must not replace a machine
    # that is at work.
    # user_data: cloud-init reads it once, at the first boot. A change would only stop the machine (or, with
    # user_data_replace_on_change, end it) without doing what the change says. To boot with other user data, make a
    # new deployment.
    ignore_changes = [ami, user_data]

    precondition {
      condition     = local.own_network || var.zone == "" || contains([one(data.aws_subnet.given[*].availability_zone), one(data.aws_subnet.given[*].availability_zone_id)], var.zone)
      error_message = "Subnet ${var.subnet} is not in zone ${var.zone}."
    }
  }
}
