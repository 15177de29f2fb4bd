# terraform init && terraform test. No cloud is asked: the provider is a mock that knows the real schema.

mock_provider "alicloud" {
  mock_data "alicloud_zones" {
    defaults = {
      zones = [{ id = "cn-shanghai-g" }, { id = "cn-shanghai-f" }]
    }
  }

  mock_data "alicloud_images" {
    defaults = {
      images = [{ id = "ubuntu_24_04_x64_20G_alibase_20260630.vhd" }]
    }
  }

  mock_data "alicloud_instances" {
    defaults = {
      instances = []
    }
  }

  mock_data "alicloud_vswitches" {
    defaults = {
      vswitches = [{ id = "vsw-bp1s5fnvk4gn2tws03624", vpc_id = "vpc-1", zone_id = "cn-shanghai-f" }]
    }
  }
}

variables {
  deployment_id = "gtest0001"
  name          = "train"
  owner         = "ada"
  profile       = "v100x1"
  region        = "cn-shanghai"
  zone          = "cn-shanghai-f"
  instance_type = "ecs.gn6v-c8g1.2xlarge"
  market        = "spot"
  image         = "m-bp146shijn7hujkui9j8"
  user_data     = "#cloud-config\n"
}

run "spot_without_a_way_in" {
  command = plan

  assert {
    condition     = alicloud_instance.machine.spot_strategy == "SpotAsPriceGo" && local.price_limit == null
    error_message = "Without a limit the machine follows the market."
  }

  assert {
    condition     = alicloud_instance.machine.spot_interruption_behavior == "Terminate" && alicloud_instance.machine.spot_duration == 1
    error_message = "An interrupted machine must not stay, stopped; its first hour is protected."
  }

  assert {
    condition     = alicloud_instance.machine.http_tokens == "required"
    error_message = "The metadata service must want a token."
  }

  assert {
    condition     = alicloud_instance.machine.system_disk_encrypted && alicloud_instance.machine.system_disk_category == "cloud_essd"
    error_message = "The root disk must be encrypted."
  }

  assert {
    condition     = length(alicloud_security_group_rule.ssh) == 0 && alicloud_security_group.machine.inner_access_policy == "Drop"
    error_message = "Nobody may reach a machine that has no access."
  }

  assert {
    condition     = length(alicloud_ram_role.machine) == 0 && alicloud_instance.machine.auto_release_time == null
    error_message = "No rights and no end where none were asked for."
  }

  assert {
    condition     = alicloud_vswitch.own[0].zone_id == "cn-shanghai-f" && alicloud_instance.machine.internet_max_bandwidth_out == 100
    error_message = "The machine goes where it was said, with a way out."
  }

  assert {
    condition     = alicloud_instance.machine.tags["gpuorch:deployment"] == "gtest0001" && alicloud_instance.machine.volume_tags["gpuorch:owner"] == "ada"
    error_message = "Machine and disks must carry the deployment."
  }
}

run "a_limit_in_the_accounts_currency" {
  command = plan

  variables {
    max_price_per_hour   = "0.9999"
    price_limit_rate     = 7.1
    spot_protected_hours = 0
  }

  assert {
    condition     = alicloud_instance.machine.spot_strategy == "SpotWithPriceLimit" && alicloud_instance.machine.spot_price_limit == 7.099
    error_message = "Three decimals, rounded down."
  }
}

run "on_demand_in_an_unsaid_zone" {
  command = plan

  variables {
    market         = "on-demand"
    zone           = ""
    expires_at     = "2026-12-01T08:00:29Z"
    checkpoint_uri = "oss://models/run/"
    image          = "family:acs:ubuntu_24_04_x64"
  }

  assert {
    condition     = alicloud_vswitch.own[0].zone_id == "cn-shanghai-f"
    error_message = "The first zone by name that has the type."
  }

  assert {
    condition     = alicloud_instance.machine.auto_release_time == "2026-12-01T08:40:00Z"
    error_message = "The cloud releases it forty minutes later, on the full minute."
  }

  assert {
    condition     = alicloud_instance.machine.spot_strategy == "NoSpot" && alicloud_instance.machine.instance_charge_type == "PostPaid"
    error_message = "On demand is pay-as-you-go."
  }

  assert {
    condition     = jsondecode(alicloud_ram_policy.checkpoint[0].policy_document).Statement[1].Resource == ["acs:oss:*:*:models/run/*"]
    error_message = "The role reaches the prefix and nothing else."
  }
}

run "a_month" {
  command = plan

  variables {
    market     = "subscription-monthly"
    expires_at = "2026-12-01T08:00:00Z"
  }

  assert {
    condition     = alicloud_instance.machine.instance_charge_type == "PrePaid" && alicloud_instance.machine.period == 1 && alicloud_instance.machine.renewal_status == "Normal"
    error_message = "One month, not renewed."
  }

  assert {
    condition     = alicloud_instance.machine.force_delete && alicloud_instance.machine.auto_release_time == null
    error_message = "It can be given back, and has no time of release."
  }
}

run "ssh_from_stated_addresses" {
  command = plan

  variables {
    access            = "ssh"
    ssh_public_key    = "ssh-ed25519 AAAA"
    ssh_allowed_cidrs = ["203.0.113.7/32", "2001:db8::/64"]
  }

  assert {
    condition     = alicloud_security_group_rule.ssh["203.0.113.7/32"].port_range == "22/22" && alicloud_security_group_rule.ssh["2001:db8::/64"].ipv6_cidr_ip == "2001:db8::/64"
    error_message = "Port 22 from there, and nothing else."
  }
}

run "a_given_vswitch" {
  command = plan

  variables {
    subnet = "vsw-bp1s5fnvk4gn2tws03624"
  }

  assert {
    condition     = length(alicloud_vpc.own) == 0 && alicloud_instance.machine.internet_max_bandwidth_out == 0
    error_message = "No network of its own and no public address there."
  }
}

run "a_given_vswitch_in_another_zone" {
  command = plan

  variables {
    subnet = "vsw-bp1s5fnvk4gn2tws03624"
    zone   = "cn-shanghai-g"
  }

  expect_failures = [alicloud_instance.machine]
}

run "the_whole_internet_is_refused" {
  command = plan

  variables {
    access            = "ssh"
    ssh_allowed_cidrs = ["0.0.0.0/0"]
  }

  expect_failures = [var.ssh_allowed_cidrs]
}

run "labels_that_no_tag_may_have" {
  command = plan

  variables {
    labels = { site = "http://example.com" }
  }

  expect_failures = [var.labels]
}
