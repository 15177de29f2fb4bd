# terraform init && terraform test. No cloud is asked: the providers are mocks that know the real schema.

mock_provider "oci" {
  mock_data "oci_identity_availability_domains" {
    defaults = {
      availability_domains = [
        { name = "Uocm:PHX-AD-3", id = "ocid1.availabilitydomain.oc1..3", compartment_id = "" },
        { name = "Uocm:PHX-AD-1", id = "ocid1.availabilitydomain.oc1..1", compartment_id = "" },
        { name = "Uocm:PHX-AD-2", id = "ocid1.availabilitydomain.oc1..2", compartment_id = "" },
      ]
    }
  }

  mock_data "oci_core_images" {
    defaults = {
      images = [
        {
          agent_features           = []
          base_image_id            = ""
          billable_size_in_gbs     = "47"
          compartment_id           = ""
          create_image_allowed     = true
          defined_tags             = {}
          display_name             = "Oracle-Linux-9.6-Gen2-GPU-2025.10.23-0"
          freeform_tags            = {}
          id                       = "ocid1.image.oc1.phx.newest"
          image_source_details     = []
          instance_id              = ""
          launch_mode              = "NATIVE"
          launch_options           = []
          listing_type             = ""
          operating_system         = "Oracle Linux"
          operating_system_version = "9"
          size_in_mbs              = "47694"
          state                    = "AVAILABLE"
          time_created             = ""
        },
      ]
    }
  }

  mock_data "oci_core_subnet" {
    defaults = {
      vcn_id                     = "ocid1.vcn.oc1.phx.theirs"
      availability_domain        = ""
      prohibit_public_ip_on_vnic = true
    }
  }

  mock_resource "oci_core_instance" {
    defaults = {
      id        = "ocid1.instance.oc1.phx.machine"
      region    = "phx"
      public_ip = "203.0.113.9"
    }
  }
}

mock_provider "oci" {
  alias = "home"
}

variables {
  deployment_id  = "gtest0001"
  name           = "train"
  owner          = "ada"
  profile        = "v100x1"
  region         = "us-phoenix-1"
  zone           = "AD-1"
  instance_type  = "VM.GPU3.1"
  market         = "spot"
  image          = "ocid1.image.oc1.phx.mine"
  user_data      = "#cloud-config\n"
  compartment_id = "ocid1.compartment.oc1..gpu"
  home_region    = "us-ashburn-1"
}

# Which domain sells the shape: of three, the last by name and the first.
override_data {
  target = data.oci_core_shapes.sold[0]
  values = {
    availability_domain = "Uocm:PHX-AD-3"
    shapes              = [{}]
  }
}

override_data {
  target = data.oci_core_shapes.sold[1]
  values = {
    availability_domain = "Uocm:PHX-AD-1"
    shapes              = [{}]
  }
}

override_data {
  target = data.oci_core_shapes.sold[2]
  values = {
    availability_domain = "Uocm:PHX-AD-2"
    shapes              = []
  }
}

run "spot_without_a_way_in" {
  command = plan

  assert {
    condition     = one(one(oci_core_instance.machine.preemptible_instance_config).preemption_action).type == "TERMINATE"
    error_message = "An interrupted machine must not stay, stopped."
  }

  assert {
    condition     = !one(one(oci_core_instance.machine.preemptible_instance_config).preemption_action).preserve_boot_volume && !oci_core_instance.machine.preserve_boot_volume
    error_message = "The disk goes with the machine."
  }

  assert {
    condition     = one(oci_core_instance.machine.instance_options).are_legacy_imds_endpoints_disabled
    error_message = "The first version of the metadata service must be off."
  }

  assert {
    condition     = oci_core_instance.machine.is_pv_encryption_in_transit_enabled
    error_message = "A virtual machine's way to its disk must be encrypted."
  }

  assert {
    condition     = oci_core_instance.machine.availability_domain == "Uocm:PHX-AD-1"
    error_message = "A domain's name without the tenancy's prefix must do."
  }

  assert {
    condition     = length(oci_core_network_security_group.machine) + length(oci_core_network_security_group_security_rule.ssh) == 0
    error_message = "Nobody may reach a machine that has no access."
  }

  assert {
    condition     = length(oci_core_default_security_list.own[0].ingress_security_rules) == 0
    error_message = "The network's own list must let nobody in."
  }

  assert {
    condition     = keys(oci_core_instance.machine.metadata) == tolist(["user_data"])
    error_message = "No key unless one was given."
  }

  assert {
    condition     = oci_core_instance.machine.source_details[0].source_id == "ocid1.image.oc1.phx.mine"
    error_message = "An image's OCID is used as it is."
  }

  assert {
    condition     = oci_core_vcn.own[0].freeform_tags["gpuorch-deployment"] == "gtest0001" && !contains(keys(oci_core_vcn.own[0].freeform_tags), "gpuorch-expires-at")
    error_message = "Everything must be found by its tag, and there are no empty tags."
  }
}

run "on_demand_by_an_images_name" {
  command = plan

  variables {
    market        = "on-demand"
    instance_type = "BM.GPU4.8"
    zone          = ""
    image         = "name:^Oracle-Linux-9\\.[0-9]+-Gen2-GPU-[0-9.]+-[0-9]+$"
    labels        = { team = "gr\u00f6\u00dfe\u0007", gpuorch-name = "mine" }
  }

  assert {
    condition     = length(oci_core_instance.machine.preemptible_instance_config) == 0 && output.market == "on-demand"
    error_message = "On demand must not be preemptible."
  }

  assert {
    condition     = oci_core_instance.machine.availability_domain == "Uocm:PHX-AD-1"
    error_message = "No zone was said: the first by name that sells the shape."
  }

  assert {
    condition     = output.image == "ocid1.image.oc1.phx.newest"
    error_message = "The newest image of the line."
  }

  assert {
    condition     = oci_core_instance.machine.freeform_tags["team"] == "gr\u00f6\u00dfe_" && oci_core_instance.machine.freeform_tags["gpuorch-name"] == "train"
    error_message = "Labels are cleaned, and hide nothing of ours."
  }
}

run "ssh_from_stated_addresses" {
  command = plan

  variables {
    access            = "ssh"
    ssh_public_key    = "ssh-ed25519 AAAA ada"
    ssh_allowed_cidrs = ["203.0.113.7/32", "2001:db8::/64"]
  }

  assert {
    condition     = join(" ", keys(oci_core_network_security_group_security_rule.ssh)) == "203.0.113.7/32"
    error_message = "Only the stated addresses, and of those what can reach a network without IPv6."
  }

  assert {
    condition     = oci_core_network_security_group_security_rule.ssh["203.0.113.7/32"].tcp_options[0].destination_port_range[0].max == 22
    error_message = "Only port 22."
  }

  assert {
    condition     = oci_core_instance.machine.metadata["ssh_authorized_keys"] == "ssh-ed25519 AAAA ada"
    error_message = "The key must reach the machine."
  }
}

run "a_given_subnet" {
  command = plan

  variables {
    subnet            = "ocid1.subnet.oc1.phx.theirs"
    access            = "ssh"
    ssh_allowed_cidrs = ["2001:db8::/64"]
  }

  assert {
    condition     = length(oci_core_vcn.own) + length(oci_core_subnet.own) + length(oci_core_default_security_list.own) == 0
    error_message = "No network beside the given one."
  }

  assert {
    condition     = oci_core_instance.machine.create_vnic_details[0].assign_public_ip == "false"
    error_message = "A private subnet gives no public address."
  }

  assert {
    condition     = oci_core_network_security_group.machine[0].vcn_id == "ocid1.vcn.oc1.phx.theirs" && join(" ", keys(oci_core_network_security_group_security_rule.ssh)) == "2001:db8::/64"
    error_message = "The rules stand in the given subnet's network, which may have IPv6."
  }
}

run "a_subnet_of_another_domain" {
  command = plan

  variables {
    subnet = "ocid1.subnet.oc1.phx.theirs"
  }

  override_data {
    target = data.oci_core_subnet.given[0]
    values = {
      vcn_id                     = "ocid1.vcn.oc1.phx.theirs"
      availability_domain        = "Uocm:PHX-AD-2"
      prohibit_public_ip_on_vnic = false
    }
  }

  expect_failures = [oci_core_instance.machine]
}

run "a_flexible_shape" {
  command = plan

  variables {
    instance_type   = "VM.Standard3.Flex"
    flex_ocpus      = 4
    flex_memory_gib = 64
  }

  assert {
    condition     = oci_core_instance.machine.shape_config[0].ocpus == 4 && oci_core_instance.machine.shape_config[0].memory_in_gbs == 64
    error_message = "A flexible shape must be told its size."
  }
}

run "rights_by_an_administrator" {
  command = plan

  variables {
    machine_rights = "none"
    home_region    = ""
  }

  assert {
    condition     = length(oci_identity_policy.machine) == 0
    error_message = "No policy where none may be written."
  }
}

run "no_home_region" {
  command = plan

  variables {
    home_region = ""
  }

  expect_failures = [oci_core_instance.machine]
}

run "no_such_domain" {
  command = plan

  variables {
    zone = "AD-4"
  }

  expect_failures = [oci_core_instance.machine]
}

run "the_shape_is_not_sold_there" {
  command = plan

  variables {
    zone = "PHX-AD-2"
  }

  expect_failures = [oci_core_instance.machine]
}

run "no_image_of_that_name" {
  command = plan

  variables {
    image = "name:^nothing$"
  }

  override_data {
    target = data.oci_core_images.named[0]
    values = { images = [] }
  }

  expect_failures = [oci_core_instance.machine]
}

run "what_is_refused" {
  command = plan

  variables {
    market            = "subscription-monthly"
    image             = "ubuntu"
    ssh_allowed_cidrs = ["0.0.0.0/0"]
    checkpoint_uri    = "oci://team@axyz/run*"
    compartment_id    = "gpu"
    machine_rights    = "all"
  }

  expect_failures = [
    var.market,
    var.image,
    var.ssh_allowed_cidrs,
    var.checkpoint_uri,
    var.compartment_id,
    var.machine_rights,
  ]
}

# Rights name the machine's own id, so these runs make it; they stand last because they share one state.

run "the_machine_may_end_itself_and_no_more" {
  command = apply

  assert {
    condition     = length(oci_identity_policy.machine[0].statements) == 2
    error_message = "No right on objects without a place for checkpoints."
  }

  assert {
    condition     = alltrue([for said in oci_identity_policy.machine[0].statements : strcontains(said, "request.principal.id = 'ocid1.instance.oc1.phx.machine'") && strcontains(said, "in compartment id ocid1.compartment.oc1..gpu ")])
    error_message = "Rights are one machine's, in one compartment."
  }

  assert {
    condition     = endswith(oci_identity_policy.machine[0].statements[0], "target.instance.id = 'ocid1.instance.oc1.phx.machine'}")
    error_message = "It may end no other machine."
  }

  assert {
    condition     = output.region == "us-phoenix-1" && output.market == "spot" && output.address == "203.0.113.9" && output.zone == "Uocm:PHX-AD-1"
    error_message = "The outputs must tell where the machine really is."
  }
}

run "checkpoints_under_a_prefix" {
  command = apply

  variables {
    checkpoint_uri = "oci://team@axyz/runs/llm/"
    compartment_id = "ocid1.tenancy.oc1..root"
  }

  assert {
    condition     = endswith(oci_identity_policy.machine[0].statements[2], "target.bucket.name = 'team', target.object.name = 'runs/llm/*'}")
    error_message = "Objects under the prefix, and no others."
  }

  assert {
    condition     = strcontains(oci_identity_policy.machine[0].statements[2], " in tenancy where ")
    error_message = "The tenancy's root is written as one."
  }
}

run "a_bucket_without_a_prefix" {
  command = apply

  variables {
    checkpoint_uri = "oci://team@axyz.eu-frankfurt-1"
  }

  assert {
    condition     = endswith(oci_identity_policy.machine[0].statements[2], "target.bucket.name = 'team', target.object.name = '*'}")
    error_message = "Without a prefix the whole bucket."
  }
}
