output "machine_id" {
  description = "The provider's id of the machine."
  value       = tencentcloud_instance.machine.id
}

output "address" {
  description = "Public address, or empty."
  value       = local.public ? tencentcloud_instance.machine.public_ip : ""
}

output "private_address" {
  description = "Address inside the network."
  value       = tencentcloud_instance.machine.private_ip
}

output "region" {
  description = "Region."
  # From the zone: where the machine really is, also when the caller's provider is set to another region than var.region.
  value = regex("^(.+)-[0-9]+$", tencentcloud_instance.machine.availability_zone)[0]
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = tencentcloud_instance.machine.availability_zone
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value = lookup(
    { SPOTPAID = "spot", PREPAID = "subscription-monthly" },
    tencentcloud_instance.machine.instance_charge_type,
    "on-demand",
  )
}

output "image" {
  description = "Id of the image in use."
  value       = tencentcloud_instance.machine.image_id
}
