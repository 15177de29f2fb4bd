output "machine_id" {
  description = "The provider's id of the machine."
  value       = google_compute_instance.machine.id
}

output "address" {
  description = "Public address, or empty."
  value       = try(google_compute_instance.machine.network_interface[0].access_config[0].nat_ip, "")
}

output "private_address" {
  description = "Address inside the network."
  value       = google_compute_instance.machine.network_interface[0].network_ip
}

output "region" {
  description = "Region."
  # From the zone: where the machine really is, also when the caller's provider is set to another region than var.region.
  value = regex("^(.*)-[a-z0-9]+$", google_compute_instance.machine.zone)[0]
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = google_compute_instance.machine.zone
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = google_compute_instance.machine.scheduling[0].provisioning_model == "SPOT" ? "spot" : "on-demand"
}

output "image" {
  description = "Id of the image in use."
  value       = google_compute_instance.machine.boot_disk[0].initialize_params[0].image
}
