output "machine_id" {
  description = "The provider's id of the machine."
  value       = module.machine.machine_id
}

output "address" {
  description = "Public address, or empty."
  value       = module.machine.address
}

output "private_address" {
  description = "Address inside the network."
  value       = module.machine.private_address
}

output "region" {
  description = "Region."
  value       = module.machine.region
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = module.machine.zone
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = module.machine.market
}

output "image" {
  description = "Id of the image in use."
  value       = module.machine.image
}
