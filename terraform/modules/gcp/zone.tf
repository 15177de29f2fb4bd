# Instances stand in a zone. Where an offer holds for the whole region, the first zone that has the machine type is
# taken, by name, so that the same question has the same answer.

locals {
  found_zones = sort([for zone, types in data.google_compute_machine_types.zones : zone if length(types.machine_types) > 0])
  zone        = var.zone != "" ? var.zone : try(local.found_zones[0], null)
}

data "google_compute_zones" "region" {
  count = var.zone == "" ? 1 : 0

  project = var.project
  region  = var.region
  status  = "UP"
}

# What accelerators a zone can attach to an N1 machine, no data source of the provider tells. Name the zone for those.
data "google_compute_machine_types" "zones" {
  for_each = toset(flatten(data.google_compute_zones.region[*].names))

  project = var.project
  zone    = each.value
  filter  = "name = \"${local.machine_type}\""
}
