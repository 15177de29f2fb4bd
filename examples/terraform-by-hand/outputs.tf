output "address" {
  description = "Public address of the machine."
  value       = module.machine.address
}

output "machine_id" {
  description = "Id of the machine."
  value       = module.machine.machine_id
}
