# The machine itself. The network, the ways in and the rights stand in network.tf, access.tf and ram.tf.

locals {
  # The one place where a name is unavoidable; made of the id, because a deployment's name may come back.
  resource_name = "gpuorch-${var.deployment_id}"

  # A value may have 128 characters and must not hold http:// or https://, nor begin as Alibaba Cloud's own tags do.
  tag_text = {
    for key, value in {
      "gpuorch:name"       = var.name
      "gpuorch:profile"    = var.profile
      "gpuorch:owner"      = var.owner
      "gpuorch:expires-at" = var.expires_at
    } : key => substr(replace(replace(replace(value, "/[^\\p{L}\\p{N} _.:\\/=+@-]/", "_"), "/\\/{2,}/", "/"), "/^((?i)aliyun|acs:)/", "_$1"), 0, 128)
    if value != ""
  }

  # Ours come last: a label must not be able to hide a machine from the search by tag.
  tags = merge(
    var.labels,
    local.tag_text,
    {
      "gpuorch:deployment" = var.deployment_id
      "gpuorch:managed-by" = "gpuorch"
    },
  )

  # family:acs:… for the newest of a line of public images, or the id of one image.
  image_family = startswith(var.image, "family:") ? trimprefix(var.image, "family:") : ""

  spot      = var.market == "spot"
  prepaid   = var.market == "subscription-monthly"
  own_limit = local.spot && var.max_price_per_hour != null

  # The cloud takes three decimals; rounded down, so that nobody pays more than was said.
  price_limit = local.own_limit ? floor(tonumber(var.max_price_per_hour) * var.price_limit_rate * 1000) / 1000 : null

  # The machine powers itself off when its time is over, but a machine that is off still costs money. So the cloud is
  # told to release it as well: forty minutes later, because it takes no time that is less than half an hour ahead, and
  # on the full minute, because it drops seconds.
  release_at = var.expires_at == "" || local.prepaid ? null : formatdate("YYYY-MM-DD'T'hh:mm:00'Z'", timeadd(var.expires_at, "40m"))

  internet_mbps = var.internet_mbps != null ? var.internet_mbps : local.own_network ? 100 : 0
}

data "alicloud_images" "family" {
  count = local.image_family == "" ? 0 : 1

  owners       = "system"
  image_family = local.image_family
}

resource "alicloud_instance" "machine" {
  instance_name = local.resource_name
  image_id      = local.image_family == "" ? var.image : data.alicloud_images.family[0].images[0].id
  instance_type = var.instance_type

  vswitch_id      = local.own_network ? alicloud_vswitch.own[0].id : var.subnet
  security_groups = [alicloud_security_group.machine.id]

  # More than zero gives the machine a public address. An own network has no NAT gateway (it would cost more than the
  # disk), so that is how the machine reaches package indexes; a given subnet has its own way out.
  internet_charge_type       = "PayByTraffic"
  internet_max_bandwidth_out = local.internet_mbps

  instance_charge_type = local.prepaid ? "PrePaid" : "PostPaid"
  # A month, and no other after it unless somebody asks.
  period         = local.prepaid ? 1 : null
  period_unit    = local.prepaid ? "Month" : null
  renewal_status = local.prepaid ? "Normal" : null
  # Without it a destroy of a prepaid machine fails. With it the provider makes it pay-as-you-go, which gives the unused
  # part of the month back as far as the account's monthly refund quota goes, and deletes it then.
  force_delete = local.prepaid

  spot_strategy              = local.prepaid ? null : local.own_limit ? "SpotWithPriceLimit" : local.spot ? "SpotAsPriceGo" : "NoSpot"
  spot_price_limit           = local.price_limit
  spot_duration              = local.spot ? var.spot_protected_hours : null
  spot_interruption_behavior = local.spot ? "Terminate" : null

  auto_release_time   = local.release_at
  deletion_protection = false

  key_name  = one(alicloud_ecs_key_pair.user[*].key_pair_name)
  user_data = base64encode(var.user_data)

  http_endpoint = "enabled"
  http_tokens   = "required"
  # The cloud's own agent can be put into its public images only.
  security_enhancement_strategy = local.image_family == "" ? "Deactive" : "Active"

  system_disk_category  = "cloud_essd"
  system_disk_size      = var.disk_gib
  system_disk_encrypted = true

  # The tags of the launch are those of its disk and its network interface, too.
  tags        = local.tags
  volume_tags = local.tags

  # Deleted before its network otherwise, and refused while a machine is in it.
  depends_on = [alicloud_security_group_rule.ssh]

  lifecycle {
    # image_id: a family means its newest image at the time of the launch. Tomorrow's image must not be put on the disk
    # of a machine that is at work.
    # user_data: cloud-init reads it once, at the first boot. A change would only stop the machine without doing what
    # the change says. To boot with other user data, make a new deployment.
    ignore_changes = [image_id, user_data]

    precondition {
      condition     = local.own_network || length(local.given_subnets) == 1
      error_message = "Subnet ${var.subnet} does not exist in ${var.region}."
    }

    precondition {
      condition     = local.own_network || var.zone == "" || contains(local.given_subnets[*].zone_id, var.zone)
      error_message = "Subnet ${var.subnet} is not in zone ${var.zone}."
    }
  }
}
