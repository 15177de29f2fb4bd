# The machine itself. The network, the ways in, the zone and the rights stand in network.tf, access.tf, zone.tf and
# iam.tf.

locals {
  # Made of the id, because a deployment's name may come back. Networks, rules and service accounts carry no labels: this
  # name and the marker in their descriptions are how they are found again.
  resource_name = "gpuorch-${var.deployment_id}"
  marker        = "gpuorch-deployment=${var.deployment_id}"

  # Google Cloud's grammar for labels: lower case, digits, _ and -, up to 63 of them; a key begins with a letter. What
  # else people write becomes _, so that no name of an owner can make a launch fail.
  label_text = {
    for key, value in {
      "gpuorch-name"       = var.name
      "gpuorch-profile"    = var.profile
      "gpuorch-owner"      = var.owner
      "gpuorch-expires-at" = var.expires_at
    } : key => substr(replace(lower(value), "/[^a-z0-9_-]/", "_"), 0, 63)
    if value != ""
  }
  user_labels = {
    for key, values in {
      for key, value in var.labels :
      substr(replace(replace(lower(key), "/[^a-z0-9_-]/", "_"), "/^([^a-z]|$)/", "x$1"), 0, 63) =>
      substr(replace(lower(value), "/[^a-z0-9_-]/", "_"), 0, 63)...
    } : key => values[0]
  }

  # Ours come last: a label must not be able to hide a machine from the search by label.
  labels = merge(
    local.user_labels,
    local.label_text,
    {
      "gpuorch-deployment" = var.deployment_id
      "gpuorch-managed-by" = "gpuorch"
    },
  )

  # n1-standard-8+T4x1: the machine type, and the accelerators that are attached to it. The other families have theirs
  # built in.
  type_parts        = regex("^(?P<machine>[a-z0-9-]+)(?:\\+(?P<accelerator>[A-Za-z0-9-]+)x(?P<count>[0-9]+))?$", var.instance_type)
  machine_type      = local.type_parts.machine
  accelerator_name  = local.type_parts.accelerator == null ? "" : local.type_parts.accelerator
  accelerator_count = local.type_parts.count == null ? 0 : tonumber(local.type_parts.count)
  accelerator_type = lookup({
    "K80"       = "nvidia-tesla-k80"
    "P4"        = "nvidia-tesla-p4"
    "P100"      = "nvidia-tesla-p100"
    "T4"        = "nvidia-tesla-t4"
    "V100"      = "nvidia-tesla-v100"
    "V100-16GB" = "nvidia-tesla-v100"
  }, local.accelerator_name, local.accelerator_name)

  # These families take no Persistent Disk.
  disk_type = can(regex("^(a3-ultragpu|a4x?|c4[ad]?|g4|h4d|m4|n4|x4)-", local.machine_type)) ? "hyperdisk-balanced" : "pd-balanced"

  # projects/…/images/family/… is the newest of a line of images; anything else is one image.
  image_parts  = regex("^projects/(?P<project>[^/]+)/global/images/(?P<family>family/)?(?P<name>[^/]+)$", var.image)
  image_family = local.image_parts.family == null ? "" : local.image_parts.name
}

data "google_compute_image" "image" {
  count = local.image_family == "" ? 0 : 1

  family  = local.image_family
  project = local.image_parts.project
}

resource "google_compute_instance" "machine" {
  name         = local.resource_name
  project      = var.project
  zone         = local.zone
  machine_type = local.machine_type
  labels       = local.labels

  dynamic "guest_accelerator" {
    for_each = local.accelerator_count > 0 ? [local.accelerator_count] : []

    content {
      type  = local.accelerator_type
      count = guest_accelerator.value
    }
  }

  boot_disk {
    auto_delete = true

    # Google encrypts every disk at rest.
    initialize_params {
      image  = local.image_family == "" ? var.image : data.google_compute_image.image[0].self_link
      size   = var.disk_gib
      type   = local.disk_type
      labels = local.labels
    }
  }

  network_interface {
    subnetwork = local.own_network ? google_compute_subnetwork.own[0].self_link : data.google_compute_subnetwork.given[0].self_link

    # An own network has no NAT gateway, so the machine needs an address to reach package indexes. In a given subnet it
    # gets one only where somebody is to reach it by SSH.
    dynamic "access_config" {
      for_each = local.own_network || var.access == "ssh" ? ["address"] : []

      content {
        network_tier = "PREMIUM"
      }
    }
  }

  tags = [local.resource_name]

  metadata = merge(
    {
      "user-data" = var.user_data
      # Keys of the project's other users do not open this machine.
      "block-project-ssh-keys" = "TRUE"
      # Where OS Login is on, keys in metadata count for nothing; the session service logs people in by it.
      "enable-oslogin" = var.access == "ssh" ? "FALSE" : "TRUE"
    },
    var.access != "ssh" || var.ssh_public_key == "" ? {} : {
      "ssh-keys" = "${var.ssh_user}:${trimspace(var.ssh_public_key)}"
    },
  )

  # Without a service account the machine has no identity at all: no key, no token, no right.
  dynamic "service_account" {
    for_each = google_service_account.machine

    content {
      email  = service_account.value.email
      scopes = ["https://www.googleapis.com/auth/devstorage.read_write"]
    }
  }

  scheduling {
    provisioning_model = var.market == "spot" ? "SPOT" : "STANDARD"
    preemptible        = var.market == "spot"
    # A spot machine cannot be restarted; one on demand comes back after its host was mended.
    automatic_restart = var.market != "spot"
    # A GPU cannot move to another host while it runs.
    on_host_maintenance = "TERMINATE"
    # Deleted, not stopped with its disk still paid for: when Google takes it back, and when its time is over.
    instance_termination_action = var.market == "spot" || var.max_run_seconds != null ? "DELETE" : null

    # The second of two clocks. The machine's own can only power it off, which leaves its disk; Google's deletes it. Both
    # have the same length, and Google's begins first.
    dynamic "max_run_duration" {
      for_each = var.max_run_seconds == null ? [] : [var.max_run_seconds]

      content {
        seconds = max_run_duration.value
      }
    }
  }

  shielded_instance_config {
    enable_vtpm                 = true
    enable_integrity_monitoring = true
    # Off, because an image of the user's own may carry a driver that nobody signed.
    enable_secure_boot = false
  }

  # Without the right, the bootstrap's first upload fails.
  depends_on = [google_storage_bucket_iam_member.checkpoint]

  lifecycle {
    # image: a family means the newest one at the time of the launch. Tomorrow's image must not replace a machine that
    # is at work. The disk's labels and the time limit cannot be changed in place either.
    # user-data: cloud-init reads it once, at the first boot. A change would do nothing of what it says.
    # ssh-keys: a new key does not reach the deployment's record; it can be added by hand without being taken away.
    # scratch_disk: larger families bring local disks that nobody wrote here; the provider would replace the machine to
    # take them away.
    ignore_changes = [
      boot_disk[0].initialize_params[0].image,
      boot_disk[0].initialize_params[0].labels,
      metadata["ssh-keys"],
      metadata["user-data"],
      scheduling[0].max_run_duration,
      scratch_disk,
    ]

    precondition {
      condition     = local.zone != null
      error_message = "No zone of ${var.region} offers ${local.machine_type}."
    }

    precondition {
      condition     = local.own_network || try(data.google_compute_subnetwork.given[0].region == var.region, false)
      error_message = "Subnet ${var.subnet} is not in region ${var.region}."
    }
  }
}
