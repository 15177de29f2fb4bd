# The machine itself. The network, the ways in and the rights stand in network.tf, access.tf and cam.tf.

locals {
  # Made of the id, because a deployment's name may come back.
  resource_name = "gpuorch-${var.deployment_id}"

  # Tencent's products differ in what they take in a tag's value; letters, digits and + = . @ - are taken by all.
  tag_text = {
    for key, value in {
      "gpuorch-name"       = var.name
      "gpuorch-profile"    = var.profile
      "gpuorch-owner"      = var.owner
      "gpuorch-expires-at" = var.expires_at
    } : key => substr(replace(value, "/[^\\p{L}\\p{N}+=.@-]/", "-"), 0, 127)
    if value != ""
  }

  # Ours come last: a label must not be able to hide a machine from the search by tag.
  tags = merge(
    var.labels,
    local.tag_text,
    {
      "gpuorch-deployment" = var.deployment_id
      "gpuorch-managed-by" = "gpuorch"
    },
  )

  # Braces in a name are a pattern to Tencent ({R:1} counts), and a name has two characters at least.
  plain_name   = substr(replace(var.name, "/[^A-Za-z0-9 _.-]/", "-"), 0, 60)
  display_name = length(local.plain_name) < 2 ? local.resource_name : local.plain_name

  charge_type = {
    "on-demand"            = "POSTPAID_BY_HOUR"
    "spot"                 = "SPOTPAID"
    "subscription-monthly" = "PREPAID"
  }[var.market]
  is_monthly = var.market == "subscription-monthly"
  is_capped  = var.market == "spot" && var.max_price_per_hour != null

  # img-… as it is, or name:… for the first public image with a name that the regular expression matches.
  image_name = startswith(var.image, "name:") ? trimprefix(var.image, "name:") : ""
  image_id   = local.image_name == "" ? var.image : try(data.tencentcloud_images.named[0].images[0].image_id, "")
}

data "tencentcloud_images" "named" {
  count = local.image_name == "" ? 0 : 1

  image_type       = ["PUBLIC_IMAGE"]
  image_name_regex = local.image_name
  # Only images that this type can boot.
  instance_type = var.instance_type
}

resource "tencentcloud_instance" "machine" {
  instance_name     = local.display_name
  availability_zone = local.zone_name
  instance_type     = var.instance_type
  image_id          = local.image_id

  instance_charge_type                    = local.charge_type
  instance_charge_type_prepaid_period     = local.is_monthly ? 1 : null
  instance_charge_type_prepaid_renew_flag = local.is_monthly ? "NOTIFY_AND_MANUAL_RENEW" : null

  # Without a limit neither is said: Tencent then bids its own current spot price. Both or none, or it refuses.
  spot_instance_type = local.is_capped ? "ONE-TIME" : null
  spot_max_price     = local.is_capped ? var.max_price_per_hour : null

  vpc_id                  = local.own_network ? tencentcloud_vpc.own[0].id : local.given_subnet.vpc_id
  subnet_id               = local.own_network ? tencentcloud_subnet.own[0].id : var.subnet
  orderly_security_groups = [tencentcloud_security_group.machine.id]

  # An own network has no NAT gateway (it would cost more than the disk), so the machine needs an address to reach
  # package indexes. In a given subnet it gets one only to be reached by SSH.
  allocate_public_ip         = local.public
  internet_charge_type       = local.public ? "TRAFFIC_POSTPAID_BY_HOUR" : null
  internet_max_bandwidth_out = local.public ? 100 : null

  system_disk_type    = var.disk_type
  system_disk_size    = var.disk_gib
  system_disk_encrypt = var.disk_encrypted ? true : null

  key_ids       = var.ssh_public_key == "" ? null : [tencentcloud_key_pair.user[0].id]
  cam_role_name = one(tencentcloud_cam_role.machine[*].name)

  # Tencent takes 16 KB in base64, which is 12 KB of text; cloud-init unpacks gzip by itself.
  user_data = base64gzip(var.user_data)

  # The monitor is wanted by some GPU types and shows the GPUs in the console. The automation agent runs commands that
  # arrive from outside.
  disable_monitor_service    = false
  disable_security_service   = false
  disable_automation_service = true

  # Counts for a subscription only: ended, it is not to lie in the recycle bin.
  force_delete = true

  tags = local.tags

  # Without its rules and its rights the bootstrap would start into a network that leads nowhere.
  depends_on = [
    tencentcloud_security_group_rule_set.machine,
    tencentcloud_cam_role_policy_attachment.checkpoint,
  ]

  lifecycle {
    # image_id: a name means the image that has it at the time of the launch. Another one would reinstall a machine that
    # is at work, and so would another key (key_ids).
    # user_data: cloud-init reads it once, at the first boot, so a change would not do what it says. To boot with other
    # user data, make a new deployment.
    # The rest cannot be read back after an import; the difference would replace or reinstall the machine.
    ignore_changes = [
      image_id,
      key_ids,
      user_data,
      user_data_raw,
      disable_automation_service,
      disable_monitor_service,
      disable_security_service,
      instance_charge_type_prepaid_period,
      spot_instance_type,
      spot_max_price,
      system_disk_encrypt,
    ]

    precondition {
      condition     = local.image_id != ""
      error_message = "No public image that ${var.instance_type} can boot has a name like ${var.image}."
    }

    precondition {
      condition     = local.own_network || contains(["", try(local.given_subnet.availability_zone, "")], var.zone)
      error_message = "Subnet ${var.subnet} is not in zone ${var.zone}."
    }
  }
}

# Powered off from inside, a machine goes on costing money here: only Tencent itself can end it. It does so ten minutes
# after the machine's own time limit, so that a machine that stops by itself still comes to write its last words.
resource "tencentcloud_cvm_action_timer" "end" {
  # A subscription cannot be ended by a timer.
  count = var.expires_at == "" || local.is_monthly ? 0 : 1

  instance_id = tencentcloud_instance.machine.id

  action_timer {
    timer_action = "TerminateInstances"
    action_time  = timeadd(var.expires_at, "10m")
  }

  lifecycle {
    # Tencent shows the time in a form of its own. The limit of a machine is set when it is made, here as inside of it.
    ignore_changes = [action_timer]
  }
}
