# The outputs that every cloud's module gives. This file only documents them: a module sets its own values.

output "machine_id" {
  description = "The provider's id of the machine."
  value       = null
}

output "address" {
  description = "Public address, or empty."
  value       = null
}

output "private_address" {
  description = "Address inside the network."
  value       = null
}

output "region" {
  description = "Region."
  value       = null
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = null
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = null
}

output "image" {
  description = "Id of the image in use."
  value       = null
}
