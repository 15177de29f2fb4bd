variable "region" {
  description = "Region in which everything is made."
  type        = string
  default     = "us-east-1"
}

variable "instance_type" {
  description = "Machine type."
  type        = string
  default     = "g6.xlarge"
}

variable "max_price_per_hour" {
  description = "Highest spot price per hour. Null: the on-demand price."
  type        = string
  default     = null
}

variable "image" {
  description = "ami-…, or ssm: and the path of a parameter that holds an AMI's id."
  type        = string
  default     = "ssm:/aws/service/deeplearning/ami/x86_64/oss-nvidia-driver-gpu-pytorch-2.10-ubuntu-24.04/latest/ami-id"
}

variable "ssh_public_key" {
  description = "Text of your public key."
  type        = string
}

variable "my_address" {
  description = "Your address, such as 203.0.113.7/32: the only one that may reach SSH."
  type        = string
}
