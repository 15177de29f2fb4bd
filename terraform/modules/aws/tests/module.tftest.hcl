# terraform init && terraform test. No cloud is asked: the provider is a mock that knows the real schema.

mock_provider "aws" {
  mock_data "aws_ec2_instance_type_offerings" {
    defaults = {
      locations = ["us-east-1c", "us-east-1b", "us-east-1d"]
    }
  }

  mock_data "aws_ssm_parameter" {
    defaults = {
      value = "ami-0fedcba9876543210"
    }
  }

  mock_data "aws_partition" {
    defaults = {
      partition = "aws"
    }
  }

  mock_data "aws_subnet" {
    defaults = {
      availability_zone    = "us-east-1a"
      availability_zone_id = "use1-az4"
      vpc_id               = "vpc-0123456789abcdef0"
    }
  }

  mock_resource "aws_instance" {
    defaults = {
      arn = "arn:aws:ec2:us-east-1:123456789012:instance/i-0123456789abcdef0"
    }
  }
}

variables {
  deployment_id = "gtest0001"
  name          = "train"
  owner         = "ada"
  profile       = "a100x8"
  region        = "us-east-1"
  zone          = "us-east-1a"
  instance_type = "p4d.24xlarge"
  market        = "spot"
  image         = "ami-0123456789abcdef0"
  user_data     = "#cloud-config\n"
}

run "spot_without_a_way_in" {
  command = plan

  assert {
    condition     = one(one(aws_instance.machine.instance_market_options[*]).spot_options[*]).spot_instance_type == "one-time"
    error_message = "A spot request must end with its machine."
  }

  assert {
    condition     = one(one(aws_instance.machine.instance_market_options[*]).spot_options[*]).instance_interruption_behavior == "terminate"
    error_message = "An interrupted machine must not stay, stopped."
  }

  assert {
    condition     = aws_instance.machine.instance_initiated_shutdown_behavior == "terminate"
    error_message = "Powered off must mean gone."
  }

  assert {
    condition     = one(aws_instance.machine.metadata_options[*]).http_tokens == "required"
    error_message = "The metadata service must want a token."
  }

  assert {
    condition     = one(aws_instance.machine.root_block_device[*]).encrypted && one(aws_instance.machine.root_block_device[*]).delete_on_termination
    error_message = "The root disk must be encrypted and go with the machine."
  }

  assert {
    condition     = length(aws_security_group.machine.ingress) == 0
    error_message = "Nobody may reach a machine that has no access."
  }

  assert {
    condition     = length(aws_iam_role.machine) == 0 && length(aws_iam_instance_profile.machine) == 0 && length(aws_key_pair.user) == 0
    error_message = "No role and no key unless they are needed."
  }

  assert {
    condition     = aws_instance.machine.volume_tags["gpuorch:deployment"] == "gtest0001"
    error_message = "A disk that is left over must be found by its tag."
  }

  assert {
    condition     = aws_subnet.own[0].availability_zone == "us-east-1a"
    error_message = "The zone that was said is the zone that is used."
  }
}

run "spot_with_a_price_limit" {
  command = plan

  variables {
    max_price_per_hour = "12.50"
  }

  assert {
    condition     = one(one(aws_instance.machine.instance_market_options[*]).spot_options[*]).max_price == "12.50"
    error_message = "The price limit must reach AWS."
  }
}

run "on_demand_with_session_and_checkpoints" {
  command = plan

  variables {
    market         = "on-demand"
    access         = "session"
    checkpoint_uri = "s3://team-checkpoints/runs/llm/"
    image          = "ssm:/aws/service/some/image"
  }

  assert {
    condition     = length(aws_instance.machine.instance_market_options) == 0
    error_message = "On demand must not be a spot request."
  }

  assert {
    condition     = aws_instance.machine.ami == "ami-0fedcba9876543210"
    error_message = "The image is what the parameter holds."
  }

  assert {
    condition     = aws_iam_role_policy_attachment.session[0].policy_arn == "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
    error_message = "Session Manager needs its managed policy."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.checkpoint[0].policy).Statement[1].Resource == "arn:aws:s3:::team-checkpoints/runs/llm/*"
    error_message = "Objects under the prefix, and no others."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.checkpoint[0].policy).Statement[0].Condition.StringLike["s3:prefix"] == ["runs/llm", "runs/llm/*"]
    error_message = "Listing must be held to the prefix."
  }
}

run "ssh_from_stated_addresses" {
  command = plan

  variables {
    access            = "ssh"
    ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2"
    ssh_allowed_cidrs = ["203.0.113.7/32", "2001:db8::1/128"]
  }

  assert {
    condition     = one(aws_security_group.machine.ingress).from_port == 22 && one(aws_security_group.machine.ingress).to_port == 22
    error_message = "Port 22 and no other."
  }

  assert {
    condition     = one(aws_security_group.machine.ingress).cidr_blocks == tolist(["203.0.113.7/32"]) && one(aws_security_group.machine.ingress).ipv6_cidr_blocks == tolist(["2001:db8::1/128"])
    error_message = "From the stated addresses and no others."
  }
}

run "addresses_are_idle_without_ssh" {
  command = plan

  variables {
    access            = "none"
    ssh_allowed_cidrs = ["203.0.113.7/32"]
  }

  assert {
    condition     = length(aws_security_group.machine.ingress) == 0
    error_message = "Only access = ssh opens a port."
  }
}

run "zone_by_id" {
  command = plan

  variables {
    zone = "use1-az4"
  }

  assert {
    condition     = aws_subnet.own[0].availability_zone_id == "use1-az4"
    error_message = "A zone id must be passed as one."
  }
}

run "zone_unsaid" {
  command = plan

  variables {
    zone = ""
  }

  assert {
    condition     = aws_subnet.own[0].availability_zone == "us-east-1b"
    error_message = "The first zone by name that sells the type."
  }
}

run "no_zone_sells_the_type" {
  command = plan

  variables {
    zone = ""
  }

  override_data {
    target = data.aws_ec2_instance_type_offerings.zones[0]
    values = {
      locations = []
    }
  }

  expect_failures = [aws_subnet.own]
}

run "given_subnet" {
  command = plan

  variables {
    subnet = "subnet-0123456789abcdef0"
    zone   = "use1-az4"
  }

  assert {
    condition     = length(aws_vpc.own) + length(aws_subnet.own) + length(aws_internet_gateway.own) + length(aws_route_table.own) == 0
    error_message = "No network beside the given one."
  }

  assert {
    condition     = aws_instance.machine.subnet_id == "subnet-0123456789abcdef0" && aws_security_group.machine.vpc_id == "vpc-0123456789abcdef0"
    error_message = "Everything stands in the given subnet."
  }
}

run "given_subnet_in_another_zone" {
  command = plan

  variables {
    subnet = "subnet-0123456789abcdef0"
    zone   = "us-east-1b"
  }

  expect_failures = [aws_instance.machine]
}

run "tags_are_ours" {
  command = plan

  variables {
    name       = "train"
    owner      = "Ada \"; <O'Brien>"
    expires_at = "2026-12-01T00:00:00Z"
    labels = {
      team                 = "vision"
      Name                 = "mine"
      "gpuorch:deployment" = "another"
    }
  }

  assert {
    condition     = aws_instance.machine.tags["gpuorch:deployment"] == "gtest0001"
    error_message = "A label must not hide a machine."
  }

  assert {
    condition     = aws_instance.machine.tags["team"] == "vision" && aws_instance.machine.tags["Name"] == "mine"
    error_message = "Labels are tags."
  }

  assert {
    condition     = aws_instance.machine.tags["gpuorch:owner"] == "Ada __ _O_Brien_" && aws_instance.machine.tags["gpuorch:expires-at"] == "2026-12-01T00:00:00Z"
    error_message = "Text that IAM takes in a tag."
  }

  assert {
    condition     = alltrue([for tags in [aws_vpc.own[0].tags, aws_subnet.own[0].tags, aws_internet_gateway.own[0].tags, aws_route_table.own[0].tags, aws_security_group.machine.tags] : tags == aws_instance.machine.tags])
    error_message = "Every resource carries the same tags."
  }
}

run "wildcards_in_the_checkpoint_prefix" {
  command = plan

  variables {
    checkpoint_uri = "s3://team-checkpoints/*"
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

run "labels_that_are_no_tags" {
  command = plan

  variables {
    labels = { "a\"b" = "c" }
  }

  expect_failures = [var.labels]
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
    target = aws_instance.machine
    values = {
      arn                = "arn:aws:ec2:us-east-1:123456789012:instance/i-0123456789abcdef0"
      id                 = "i-0123456789abcdef0"
      instance_lifecycle = "spot"
      public_ip          = "198.51.100.4"
    }
  }

  assert {
    condition     = output.machine_id == "i-0123456789abcdef0" && output.address == "198.51.100.4" && output.region == "us-east-1" && output.market == "spot"
    error_message = "The outputs are the provider's word."
  }
}
