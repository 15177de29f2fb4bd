# terraform init && terraform test. No cloud is asked: the provider is a mock that knows the real schema.

mock_provider "tencentcloud" {
  mock_data "tencentcloud_images" {
    defaults = {
      images = [{
        image_id           = "img-0fedcba9"
        image_name         = "Ubuntu Server 22.04 LTS 64bit"
        architecture       = "x86_64"
        created_time       = ""
        image_creator      = ""
        image_description  = ""
        image_size         = 20
        image_source       = "OFFICIAL"
        image_state        = "NORMAL"
        image_type         = "PUBLIC_IMAGE"
        os_name            = ""
        platform           = "Ubuntu"
        snapshots          = []
        support_cloud_init = true
        sync_percent       = 0
      }]
    }
  }

  mock_data "tencentcloud_instance_types" {
    defaults = {
      instance_types = [
        { availability_zone = "ap-guangzhou-6", instance_type = "GN7.5XLARGE80", family = "GN7", status = "SELL", instance_charge_type = "SPOTPAID", cpu_core_count = 20, gpu_core_count = 1, memory_size = 80, cbs_configs = [] },
        { availability_zone = "ap-guangzhou-4", instance_type = "GN7.5XLARGE80", family = "GN7", status = "SELL", instance_charge_type = "SPOTPAID", cpu_core_count = 20, gpu_core_count = 1, memory_size = 80, cbs_configs = [] },
        { availability_zone = "ap-guangzhou-2", instance_type = "GN7.LARGE20", family = "GN7", status = "SELL", instance_charge_type = "SPOTPAID", cpu_core_count = 4, gpu_core_count = 0, memory_size = 20, cbs_configs = [] },
      ]
    }
  }

  mock_data "tencentcloud_vpc_subnets" {
    defaults = {
      instance_list = [{
        availability_zone  = "ap-guangzhou-3"
        available_ip_count = 250
        cidr_block         = "10.0.0.0/24"
        create_time        = ""
        is_default         = false
        is_multicast       = false
        name               = "theirs"
        route_table_id     = "rtb-00000001"
        subnet_id          = "subnet-00000001"
        tags               = {}
        vpc_id             = "vpc-00000001"
      }]
    }
  }

  mock_resource "tencentcloud_instance" {
    defaults = {
      public_ip         = "198.51.100.4"
      private_ip        = "10.86.0.2"
      availability_zone = "ap-guangzhou-3"
    }
  }
}

variables {
  deployment_id = "gtest0001"
  name          = "train"
  owner         = "ada"
  profile       = "t4x1"
  region        = "ap-guangzhou"
  zone          = "ap-guangzhou-3"
  instance_type = "GN7.5XLARGE80"
  market        = "spot"
  image         = "img-01234567"
  user_data     = "#cloud-config\n"
}

run "spot_without_a_way_in" {
  command = plan

  assert {
    condition     = tencentcloud_instance.machine.instance_charge_type == "SPOTPAID"
    error_message = "Spot is SPOTPAID."
  }

  assert {
    condition     = tencentcloud_instance.machine.spot_instance_type == null && tencentcloud_instance.machine.spot_max_price == null
    error_message = "Without a limit Tencent Cloud bids its own spot price."
  }

  assert {
    condition     = tencentcloud_instance.machine.system_disk_encrypt && tencentcloud_instance.machine.system_disk_type == "CLOUD_PREMIUM"
    error_message = "The system disk must be encrypted."
  }

  assert {
    condition     = length(tencentcloud_security_group_rule_set.machine.ingress) == 0
    error_message = "Nobody may reach a machine that has no access."
  }

  assert {
    condition     = length(tencentcloud_cam_role.machine) == 0 && length(tencentcloud_key_pair.user) == 0
    error_message = "No role and no key unless they are needed."
  }

  assert {
    condition     = tencentcloud_instance.machine.disable_automation_service && !tencentcloud_instance.machine.disable_monitor_service
    error_message = "Nobody runs commands through an agent; the GPUs are watched."
  }

  assert {
    condition     = length(tencentcloud_cvm_action_timer.end) == 0
    error_message = "No timer without a time."
  }

  assert {
    condition     = tencentcloud_subnet.own[0].availability_zone == "ap-guangzhou-3"
    error_message = "The zone that was said is the zone that is used."
  }

  assert {
    condition     = tencentcloud_instance.machine.user_data == base64gzip("#cloud-config\n")
    error_message = "User data is compressed."
  }
}

run "spot_with_a_price_limit" {
  command = plan

  variables {
    max_price_per_hour = "0.50"
  }

  assert {
    condition     = tencentcloud_instance.machine.spot_instance_type == "ONE-TIME" && tencentcloud_instance.machine.spot_max_price == "0.50"
    error_message = "The price limit must reach Tencent Cloud."
  }
}

run "a_price_limit_is_for_spot_only" {
  command = plan

  variables {
    market             = "on-demand"
    max_price_per_hour = "0.50"
  }

  assert {
    condition     = tencentcloud_instance.machine.instance_charge_type == "POSTPAID_BY_HOUR" && tencentcloud_instance.machine.spot_max_price == null
    error_message = "On demand must not be a spot request."
  }
}

run "its_end_is_ordered" {
  command = plan

  variables {
    expires_at = "2026-12-01T07:33:04.291651Z"
  }

  assert {
    condition     = one(tencentcloud_cvm_action_timer.end[0].action_timer).timer_action == "TerminateInstances"
    error_message = "A machine that powers itself off would still cost money."
  }

  assert {
    condition     = one(tencentcloud_cvm_action_timer.end[0].action_timer).action_time == "2026-12-01T07:43:04Z"
    error_message = "Ten minutes after its own limit, in the form that Tencent Cloud takes."
  }
}

run "by_the_month" {
  command = plan

  variables {
    market     = "subscription-monthly"
    expires_at = "2026-12-01T00:00:00Z"
  }

  assert {
    condition     = tencentcloud_instance.machine.instance_charge_type == "PREPAID" && tencentcloud_instance.machine.instance_charge_type_prepaid_period == 1
    error_message = "A month ahead."
  }

  assert {
    condition     = tencentcloud_instance.machine.instance_charge_type_prepaid_renew_flag == "NOTIFY_AND_MANUAL_RENEW" && tencentcloud_instance.machine.force_delete
    error_message = "Never a second month by itself, and nothing left in the recycle bin."
  }

  assert {
    condition     = length(tencentcloud_cvm_action_timer.end) == 0
    error_message = "A subscription cannot be ended by a timer."
  }
}

run "checkpoints_under_the_prefix" {
  command = plan

  variables {
    checkpoint_uri = "cos://ckpt-1250000000/runs/llm/"
  }

  assert {
    condition     = jsondecode(tencentcloud_cam_policy.checkpoint[0].document).statement[0].resource == ["qcs::cos:ap-guangzhou:uid/1250000000:ckpt-1250000000/runs/llm/*"]
    error_message = "Objects under the prefix, and no others."
  }

  assert {
    condition     = alltrue([for action in jsondecode(tencentcloud_cam_policy.checkpoint[0].document).statement[0].action : startswith(action, "name/cos:") && !strcontains(action, "*")])
    error_message = "Named rights only."
  }

  assert {
    condition     = jsondecode(tencentcloud_cam_role.machine[0].document).statement[0].principal.service == ["cvm.qcloud.com"]
    error_message = "Machines only."
  }

  assert {
    condition     = tencentcloud_instance.machine.cam_role_name == "gpuorch-gtest0001" && !tencentcloud_cam_role.machine[0].console_login
    error_message = "The machine has the role, and nobody logs in with it."
  }
}

run "a_whole_bucket" {
  command = plan

  variables {
    checkpoint_uri = "cos://ckpt-1250000000"
  }

  assert {
    condition     = jsondecode(tencentcloud_cam_policy.checkpoint[0].document).statement[0].resource == ["qcs::cos:ap-guangzhou:uid/1250000000:ckpt-1250000000/*"]
    error_message = "That bucket, and no other."
  }
}

run "ssh_from_stated_addresses" {
  command = plan

  variables {
    access            = "ssh"
    ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2 ada@example.org  work"
    ssh_allowed_cidrs = ["203.0.113.7/32", "2001:db8::1/128"]
  }

  assert {
    condition     = [for rule in tencentcloud_security_group_rule_set.machine.ingress : "${rule.action} ${rule.protocol} ${rule.port}"] == ["ACCEPT TCP 22", "ACCEPT TCP 22"]
    error_message = "Port 22 and no other."
  }

  assert {
    condition     = tencentcloud_security_group_rule_set.machine.ingress[0].cidr_block == "203.0.113.7/32" && tencentcloud_security_group_rule_set.machine.ingress[1].ipv6_cidr_block == "2001:db8::1/128"
    error_message = "From the stated addresses and no others."
  }

  assert {
    condition     = tencentcloud_key_pair.user[0].key_name == "gpuorch_gtest0001" && tencentcloud_key_pair.user[0].public_key == "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2"
    error_message = "A name and a key in the form that Tencent Cloud keeps."
  }
}

run "addresses_are_idle_without_ssh" {
  command = plan

  variables {
    access            = "none"
    ssh_allowed_cidrs = ["203.0.113.7/32"]
  }

  assert {
    condition     = length(tencentcloud_security_group_rule_set.machine.ingress) == 0
    error_message = "Only access = ssh opens a port."
  }
}

run "names_fit" {
  command = plan

  variables {
    deployment_id  = "g1234567890123456789012345678901"
    name           = "{R:3}"
    ssh_public_key = "ssh-ed25519 AAAA"
  }

  assert {
    condition     = tencentcloud_key_pair.user[0].key_name == "gpuorch_g1234567890123456"
    error_message = "25 characters at most."
  }

  assert {
    condition     = tencentcloud_instance.machine.instance_name == "-R-3-"
    error_message = "Braces in a name are a pattern."
  }
}

run "a_name_that_is_too_short" {
  command = plan

  variables {
    name = "x"
  }

  assert {
    condition     = tencentcloud_instance.machine.instance_name == "gpuorch-gtest0001"
    error_message = "Two characters at least."
  }
}

run "zone_unsaid" {
  command = plan

  variables {
    zone = ""
  }

  assert {
    condition     = tencentcloud_subnet.own[0].availability_zone == "ap-guangzhou-4" && tencentcloud_instance.machine.availability_zone == "ap-guangzhou-4"
    error_message = "The first zone by name that has the type on sale."
  }
}

run "no_zone_sells_the_type" {
  command = plan

  variables {
    zone          = ""
    instance_type = "GN7.8XLARGE128"
  }

  expect_failures = [tencentcloud_subnet.own]
}

run "given_subnet" {
  command = plan

  variables {
    subnet = "subnet-00000001"
    zone   = ""
  }

  assert {
    condition     = length(tencentcloud_vpc.own) + length(tencentcloud_subnet.own) == 0
    error_message = "No network beside the given one."
  }

  assert {
    condition     = tencentcloud_instance.machine.vpc_id == "vpc-00000001" && tencentcloud_instance.machine.subnet_id == "subnet-00000001" && tencentcloud_instance.machine.availability_zone == "ap-guangzhou-3"
    error_message = "Everything stands in the given subnet."
  }

  assert {
    condition     = !tencentcloud_instance.machine.allocate_public_ip
    error_message = "No public address in somebody's own network, unless SSH needs it."
  }
}

run "given_subnet_in_another_zone" {
  command = plan

  variables {
    subnet = "subnet-00000001"
    zone   = "ap-guangzhou-4"
  }

  expect_failures = [tencentcloud_instance.machine]
}

run "given_subnet_that_is_none" {
  command = plan

  variables {
    subnet = "subnet-00000001"
  }

  override_data {
    target = data.tencentcloud_vpc_subnets.given[0]
    values = {
      instance_list = []
    }
  }

  expect_failures = [data.tencentcloud_vpc_subnets.given]
}

run "image_by_name" {
  command = plan

  variables {
    image = "name:^Ubuntu Server 22\\.04 LTS 64\\S*$"
  }

  assert {
    condition     = tencentcloud_instance.machine.image_id == "img-0fedcba9" && data.tencentcloud_images.named[0].image_name_regex == "^Ubuntu Server 22\\.04 LTS 64\\S*$"
    error_message = "The image is the one with the name."
  }

  assert {
    condition     = data.tencentcloud_images.named[0].instance_type == "GN7.5XLARGE80"
    error_message = "Only images that the type can boot."
  }
}

run "image_that_nothing_has_the_name_of" {
  command = plan

  variables {
    image = "name:nothing"
  }

  override_data {
    target = data.tencentcloud_images.named[0]
    values = {
      images = []
    }
  }

  expect_failures = [tencentcloud_instance.machine]
}

run "disk_settings" {
  command = plan

  variables {
    disk_type      = "CLOUD_HSSD"
    disk_encrypted = false
    disk_gib       = 300
  }

  assert {
    condition     = tencentcloud_instance.machine.system_disk_type == "CLOUD_HSSD" && tencentcloud_instance.machine.system_disk_size == 300
    error_message = "The disk that was asked for."
  }
}

run "tags_are_ours" {
  command = plan

  variables {
    owner      = "Ada \"; <O'Brien> 日本"
    expires_at = "2026-12-01T00:00:00Z"
    labels = {
      team                 = "vision"
      "gpuorch-deployment" = "another"
    }
  }

  assert {
    condition     = tencentcloud_instance.machine.tags["gpuorch-deployment"] == "gtest0001"
    error_message = "A label must not hide a machine."
  }

  assert {
    condition     = tencentcloud_instance.machine.tags["team"] == "vision"
    error_message = "Labels are tags."
  }

  assert {
    condition     = tencentcloud_instance.machine.tags["gpuorch-owner"] == "Ada-----O-Brien--日本" && tencentcloud_instance.machine.tags["gpuorch-expires-at"] == "2026-12-01T00-00-00Z"
    error_message = "Text that every product takes in a tag."
  }

  assert {
    condition     = alltrue([for tags in [tencentcloud_vpc.own[0].tags, tencentcloud_subnet.own[0].tags, tencentcloud_security_group.machine.tags] : tags == tencentcloud_instance.machine.tags])
    error_message = "Every resource carries the same tags."
  }
}

run "wildcards_in_the_checkpoint_prefix" {
  command = plan

  variables {
    checkpoint_uri = "cos://ckpt-1250000000/*"
  }

  expect_failures = [var.checkpoint_uri]
}

run "a_bucket_without_its_owner" {
  command = plan

  variables {
    checkpoint_uri = "cos://ckpt/runs"
  }

  expect_failures = [var.checkpoint_uri]
}

run "the_whole_internet" {
  command = plan

  variables {
    access            = "ssh"
    ssh_allowed_cidrs = ["0.0.0.0/0"]
  }

  expect_failures = [var.ssh_allowed_cidrs]
}

run "session_is_not_to_be_had" {
  command = plan

  variables {
    access = "session"
  }

  expect_failures = [var.access]
}

run "labels_that_are_no_tags" {
  command = plan

  variables {
    labels = { "Project" = "c" }
  }

  expect_failures = [var.labels]
}

run "a_time_that_is_none" {
  command = plan

  variables {
    expires_at = "tomorrow"
  }

  expect_failures = [var.expires_at]
}

run "a_time_elsewhere" {
  command = plan

  variables {
    expires_at = "2026-12-01T00:00:00+08:00"
  }

  expect_failures = [var.expires_at]
}

run "image_that_is_none" {
  command = plan

  variables {
    image = "ubuntu"
  }

  expect_failures = [var.image]
}

run "outputs" {
  command = apply

  override_resource {
    target = tencentcloud_instance.machine
    values = {
      id         = "ins-00000001"
      public_ip  = "198.51.100.4"
      private_ip = "10.86.0.2"
    }
  }

  assert {
    condition     = output.machine_id == "ins-00000001" && output.address == "198.51.100.4" && output.region == "ap-guangzhou" && output.zone == "ap-guangzhou-3" && output.market == "spot" && output.image == "img-01234567"
    error_message = "The outputs are the provider's word."
  }
}
