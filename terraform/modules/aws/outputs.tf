output "machine_id" {
  description = "The provider's id of the machine."
  value       = aws_instance.machine.id
}

output "address" {
  description = "Public address, or empty."
  value       = aws_instance.machine.public_ip
}

output "private_address" {
  description = "Address inside the network."
  value       = aws_instance.machine.private_ip
}

output "region" {
  description = "Region."
  # From the ARN: where the machine really is, also when the caller's provider is set to another region than var.region.
  value = split(":", aws_instance.machine.arn)[3]
}

output "zone" {
  description = "Zone, by the provider's name."
  value       = aws_instance.machine.availability_zone
}

output "market" {
  description = "on-demand or spot, as the provider has it."
  value       = aws_instance.machine.instance_lifecycle == "spot" ? "spot" : "on-demand"
}

output "image" {
  description = "Id of the image in use."
  value       = aws_instance.machine.ami
}
