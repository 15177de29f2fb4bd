# terraform init && terraform test. No cloud is asked: the provider is a mock that knows the real schema.

mock_provider "google" {
  mock_data "google_compute_zones" {
    defaults = {
      names = ["us-central1-c", "us-central1-b"]
    }
  }

  mock_data "google_compute_machine_types" {
    defaults = {
      machine_types = [{
        accelerators                     = []
        deprecated                       = []
        description                      = ""
        guest_cpus                       = 12
        is_shared_cpus                   = false
        maximum_persistent_disks         = 128
        maximum_persistent_disks_size_gb = 263168
        memory_mb                        = 87040
        name                             = "a2-highgpu-1g"
        self_link                        = ""
      }]
    }
  }

  mock_data "google_compute_image" {
    defaults = {
      self_link = "projects/p/global/images/ubuntu-v1"
    }
  }

  mock_data "google_compute_subnetwork" {
    defaults = {
      network   = "projects/host-project/global/networks/shared"
      self_link = "projects/host-project/regions/us-central1/subnetworks/shared"
    }
  }
}

variables {
  deployment_id = "g0123456789ab"
  name          = "train"
  project       = "my-project-1"
  region        = "us-central1"
  instance_type = "a2-highgpu-1g"
  market        = "spot"
  image         = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64"
  user_data     = "#cloud-config\n{}\n"
}

run "spot_in_an_own_network" {
  command = plan

  assert {
    condition     = google_compute_instance.machine.zone == "us-central1-b"
    error_message = "The first zone by name is taken."
  }

  assert {
    condition     = google_compute_instance.machine.scheduling[0].provisioning_model == "SPOT" && google_compute_instance.machine.scheduling[0].instance_termination_action == "DELETE"
    error_message = "A spot machine is deleted when it is taken back."
  }

  assert {
    condition     = google_compute_instance.machine.labels["gpuorch-deployment"] == var.deployment_id && google_compute_instance.machine.boot_disk[0].initialize_params[0].labels["gpuorch-deployment"] == var.deployment_id
    error_message = "Machine and disk carry the deployment's label."
  }

  assert {
    condition     = length(google_compute_firewall.ssh) == 0 && length(google_service_account.machine) == 0
    error_message = "Nobody gets in and the machine may do nothing, unless asked."
  }
}

run "session_in_a_shared_network" {
  command = plan

  variables {
    subnet = "projects/host-project/regions/us-central1/subnetworks/shared"
    access = "session"
  }

  assert {
    condition     = google_compute_firewall.ssh[0].project == "host-project" && length(google_compute_network.own) == 0
    error_message = "The rule belongs to the network's project."
  }

  assert {
    condition     = length(google_compute_instance.machine.network_interface[0].access_config) == 0
    error_message = "Without SSH a machine in a given subnet has no external address."
  }
}

run "a_subnet_of_another_region" {
  command = plan

  variables {
    subnet = "projects/host-project/regions/us-east1/subnetworks/shared"
  }

  expect_failures = [google_compute_instance.machine]
}

run "no_zone_has_the_type" {
  command = plan

  override_data {
    target = data.google_compute_machine_types.zones
    values = {
      machine_types = []
    }
  }

  expect_failures = [google_compute_instance.machine]
}
