output "machine_id" {
  description = "The provider's id of the machine."
  value       = azurerm_linux_virtual_machine.machine.id
}

output "address" {
  description = "Public address, or empty."
  # Of the address itself: the machine's own attribute lags where an address is put on or taken away later.
  value = one(azurerm_public_ip.machine[*].ip_address) == null ? "" : one(azurerm_public_ip.machine[*].ip_address)
}

output "private_address" {
  description = "Address inside the network."
  value       = azurerm_linux_virtual_machine.machine.private_ip_address
}

output "region" {
  description = "Region."
  value       = azurerm_linux_virtual_machine.machine.location
}

output "zone" {
  description = "Zone, by the provider's name."
  # Empty for a machine that Azure placed anywhere in the region.
  value = azurerm_linux_virtual_machine.machine.zone == null ? "" : azurerm_linux_virtual_machine.machine.zone
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = azurerm_linux_virtual_machine.machine.priority == "Spot" ? "spot" : "on-demand"
}

output "image" {
  description = "Id of the image in use."
  value       = local.image_is_id ? azurerm_linux_virtual_machine.machine.source_image_id : join(":", [for part in azurerm_linux_virtual_machine.machine.source_image_reference : "${part.publisher}:${part.offer}:${part.sku}:${part.version}"])
}
