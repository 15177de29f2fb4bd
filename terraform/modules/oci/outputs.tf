output "machine_id" {
  description = "The provider's id of the machine."
  value       = oci_core_instance.machine.id
}

output "address" {
  description = "Public address, or empty."
  value       = oci_core_instance.machine.public_ip
}

output "private_address" {
  description = "Address inside the network."
  value       = oci_core_instance.machine.private_ip
}

output "region" {
  description = "Region."
  # From the machine: where it really is, also when the caller's provider is set to another region than var.region.
  value = lookup(local.region_names, oci_core_instance.machine.region, oci_core_instance.machine.region)
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = oci_core_instance.machine.availability_domain
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = length(oci_core_instance.machine.preemptible_instance_config) > 0 ? "spot" : "on-demand"
}

output "image" {
  description = "Id of the image in use."
  value       = one(oci_core_instance.machine.source_details[*].source_id)
}
