output "machine_id" {
  description = "The provider's id of the machine."
  value       = alicloud_instance.machine.id
}

output "address" {
  description = "Public address, or empty."
  value       = alicloud_instance.machine.public_ip
}

output "private_address" {
  description = "Address inside the network."
  value       = alicloud_instance.machine.primary_ip_address
}

output "region" {
  description = "Region."
  # From the zone: where the machine really is, also when the caller's provider is set to another region than var.region.
  # cn-beijing-h → cn-beijing, us-east-1a → us-east-1
  value = replace(alicloud_instance.machine.availability_zone, "/-?[a-z]$/", "")
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = alicloud_instance.machine.availability_zone
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = alicloud_instance.machine.instance_charge_type == "PrePaid" ? "subscription-monthly" : contains(["", "NoSpot"], alicloud_instance.machine.spot_strategy) ? "on-demand" : "spot"
}

output "image" {
  description = "Id of the image in use."
  value       = alicloud_instance.machine.image_id
}
