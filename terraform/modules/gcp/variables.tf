# The variables of ../../contract/variables.tf, in its order, with what Google Cloud asks of some of them, and then its own.

variable "deployment_id" {
  description = "Identifier of the deployment; stands in the tag that marks every resource as its own."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9]{7,31}$", var.deployment_id))
    error_message = "deployment_id must be 8 to 32 lower-case letters and digits, beginning with a letter."
  }
}

variable "name" {
  description = "Name of the deployment, for people."
  type        = string
}

variable "owner" {
  description = "Who asked for it; stands in a tag."
  type        = string
  default     = ""
}

variable "profile" {
  description = "The GPU profile or expression that was asked for; stands in a tag."
  type        = string
  default     = ""
}

variable "expires_at" {
  description = "ISO 8601 time after which the machine ends itself; stands in a tag. Empty: not known or no limit."
  type        = string
  default     = ""
}

variable "labels" {
  description = "Further tags, from the user."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(var.labels) <= 50
    error_message = "labels: Google Cloud takes 64 labels, and this module sets up to 6 of its own."
  }
}

variable "region" {
  description = "Region in which everything is made."
  type        = string
}

variable "zone" {
  description = "Zone, by name or by the provider's own zone id. Empty: a zone of the region that has the instance type."
  type        = string
  default     = ""

  validation {
    condition     = var.zone == "" || can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z0-9]+$", var.zone))
    error_message = "zone must be a zone's name, such as us-central1-a, or empty."
  }
}

variable "instance_type" {
  description = "The provider's name of the machine type."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9]*(-[a-z0-9]+)+(\\+[A-Za-z0-9-]+x[1-9][0-9]*)?$", var.instance_type))
    error_message = "instance_type must be a machine type, with accelerators where they are attached: a2-highgpu-1g, n1-standard-8+T4x1."
  }
}

variable "market" {
  description = "How the machine is paid for: on-demand, spot or subscription-monthly (a month ahead). A module takes those that its cloud sells."
  type        = string

  validation {
    condition     = contains(["on-demand", "spot", "subscription-monthly"], var.market)
    error_message = "market must be on-demand, spot or subscription-monthly."
  }

  validation {
    condition     = var.market != "subscription-monthly"
    error_message = "Google Cloud sells on-demand and spot, and no monthly subscription."
  }
}

variable "max_price_per_hour" {
  description = "Spot only: the highest price per hour for the whole machine. Null: the on-demand price."
  type        = string
  default     = null
}

variable "image" {
  description = "Machine image, in a form that the module documents."
  type        = string

  validation {
    condition     = can(regex("^projects/[a-z0-9.:-]+/global/images/(family/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", var.image))
    error_message = "image must be projects/PROJECT/global/images/NAME, or …/images/family/FAMILY for the newest of a family."
  }
}

variable "user_data" {
  description = "cloud-init user data, as text."
  type        = string
}

variable "access" {
  description = "How people reach the machine: ssh, session (the cloud's own session service) or none."
  type        = string
  default     = "none"

  validation {
    condition     = contains(["ssh", "session", "none"], var.access)
    error_message = "access must be ssh, session or none."
  }
}

variable "ssh_public_key" {
  description = "Public key to log in with. Empty: none."
  type        = string
  default     = ""
}

variable "ssh_allowed_cidrs" {
  description = "Addresses that may reach port 22. Empty: none."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for cidr in var.ssh_allowed_cidrs : can(cidrhost(cidr, 0)) && !contains(["0.0.0.0/0", "::/0"], cidr)])
    error_message = "ssh_allowed_cidrs must be CIDR blocks, and never the whole internet."
  }

  validation {
    condition     = alltrue([for cidr in var.ssh_allowed_cidrs : !strcontains(cidr, ":")])
    error_message = "ssh_allowed_cidrs: the machine has an IPv4 address only, so the blocks must be IPv4."
  }
}

variable "subnet" {
  description = "Existing subnet to use. Empty: an own network is made."
  type        = string
  default     = ""

  validation {
    condition     = var.subnet == "" || can(regex("^(projects/[a-z0-9.:-]+/regions/[a-z0-9-]+/subnetworks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", var.subnet))
    error_message = "subnet must be a subnet's name, or projects/PROJECT/regions/REGION/subnetworks/NAME."
  }
}

variable "disk_gib" {
  description = "Size of the encrypted root disk."
  type        = number
  default     = 200
}

variable "checkpoint_uri" {
  description = "Object store prefix that the machine may read and write, and nothing else. Empty: none."
  type        = string
  default     = ""

  validation {
    # No quotation marks, which would end the string in the condition of the machine's right, and no wildcards.
    condition     = var.checkpoint_uri == "" || can(regex("^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[A-Za-z0-9!_.'()/=+@:, -]*)?$", var.checkpoint_uri))
    error_message = "checkpoint_uri must be gs://bucket or gs://bucket/prefix, without wildcards."
  }
}

variable "project" {
  description = "Id of the project in which everything is made."
  type        = string

  validation {
    condition     = can(regex("^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be a project's id, such as my-project-123456."
  }
}

variable "ssh_user" {
  description = "The user whom ssh_public_key lets in."
  type        = string
  default     = "ubuntu"

  validation {
    condition     = can(regex("^[a-z_][a-z0-9_-]{0,31}$", var.ssh_user))
    error_message = "ssh_user must be the name of a Linux user."
  }
}

variable "max_run_seconds" {
  description = "Google Cloud deletes the machine after this time. Null: no such limit."
  type        = number
  default     = null

  validation {
    condition     = var.max_run_seconds == null ? true : var.max_run_seconds >= 30 && var.max_run_seconds <= 10368000
    error_message = "max_run_seconds must be from 30 seconds to 120 days."
  }
}
