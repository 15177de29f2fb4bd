# An own network of one subnet, or the subnet that was given.

locals {
  own_network = var.subnet == ""

  # projects/P/regions/R/subnetworks/NAME (a shared network's too), or the name alone.
  subnet_parts = local.own_network ? null : try(
    regex("^projects/(?P<project>[^/]+)/regions/(?P<region>[^/]+)/subnetworks/(?P<name>[^/]+)$", var.subnet),
    { project = var.project, region = var.region, name = var.subnet },
  )

  # A rule lives where its network does, which for a shared network is another project.
  network         = local.own_network ? google_compute_network.own[0].self_link : data.google_compute_subnetwork.given[0].network
  network_project = local.own_network ? var.project : local.subnet_parts.project
}

data "google_compute_subnetwork" "given" {
  count = local.own_network ? 0 : 1

  project = local.subnet_parts.project
  region  = local.subnet_parts.region
  name    = local.subnet_parts.name
}

resource "google_compute_network" "own" {
  count = local.own_network ? 1 : 0

  name        = local.resource_name
  description = local.marker
  project     = var.project

  auto_create_subnetworks = false
  routing_mode            = "REGIONAL"
}

resource "google_compute_subnetwork" "own" {
  count = local.own_network ? 1 : 0

  name        = local.resource_name
  description = local.marker
  project     = var.project
  region      = var.region
  network     = google_compute_network.own[0].self_link

  # One machine lives here and nothing is peered with it, so any private block serves.
  ip_cidr_range = "10.86.0.0/24"

  # Storage is reached without leaving Google's network.
  private_ip_google_access = true
}
