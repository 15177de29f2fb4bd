output "machine_id" {
  description = "The provider's id of the machine."
  value       = homelab_machine.machine.id
}

output "address" {
  description = "Public address, or empty."
  value       = homelab_machine.machine.address
}

output "private_address" {
  description = "Address inside the network."
  value       = homelab_machine.machine.private_address
}

output "region" {
  description = "Region."
  value       = homelab_machine.machine.room
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = homelab_machine.machine.rack
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = homelab_machine.machine.market
}

output "image" {
  description = "Id of the image in use."
  value       = homelab_machine.machine.image
}
