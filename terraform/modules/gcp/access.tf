# Who reaches the machine: port 22 from the stated addresses, the session service (IAP's tunnel), or nobody. A network
# lets nobody in by itself.

locals {
  # cloud.google.com/iap/docs/using-tcp-forwarding: the block that IAP's tunnels come from.
  iap_block   = "35.235.240.0/20"
  ssh_sources = var.access == "ssh" ? var.ssh_allowed_cidrs : var.access == "session" ? [local.iap_block] : []
}

resource "google_compute_firewall" "ssh" {
  count = length(local.ssh_sources) > 0 ? 1 : 0

  name        = local.resource_name
  description = local.marker
  project     = local.network_project
  network     = local.network

  direction     = "INGRESS"
  source_ranges = local.ssh_sources
  target_tags   = [local.resource_name]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}
