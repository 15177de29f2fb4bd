# The variables of ../../contract/variables.tf, in its order, with what Alibaba Cloud asks of some of them; its own last.

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
    condition = alltrue([
      for key, value in var.labels :
      can(regex("^[\\p{L}\\p{N} _.:/=+@-]{1,128}$", key)) && can(regex("^[\\p{L}\\p{N} _.:/=+@-]{0,128}$", value))
      && !can(regex("(?i)^(aliyun|acs:)|https?://", key)) && !can(regex("(?i)^(aliyun|acs:)|https?://", value))
    ])
    error_message = "labels must be tags that Alibaba Cloud takes: up to 128 letters, digits, spaces and _.:/=+@-, neither beginning with aliyun or acs: nor holding http:// or https://."
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
}

variable "instance_type" {
  description = "The provider's name of the machine type."
  type        = string
}

variable "market" {
  description = "How the machine is paid for: on-demand, spot or subscription-monthly (a month ahead). A module takes those that its cloud sells."
  type        = string

  validation {
    condition     = contains(["on-demand", "spot", "subscription-monthly"], var.market)
    error_message = "market must be on-demand, spot or subscription-monthly."
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
    condition     = can(regex("^(family:acs:[a-z0-9_.]+|m-[a-z0-9]+|[A-Za-z0-9_.-]+\\.vhd)$", var.image))
    error_message = "image must be the id of an image (m-… or ….vhd) or a family of public images (family:acs:ubuntu_24_04_x64)."
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
}

variable "subnet" {
  description = "Existing subnet to use. Empty: an own network is made."
  type        = string
  default     = ""
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
    # Neither * nor ? nor $: inside a policy they would be patterns and reach beyond the prefix.
    condition     = var.checkpoint_uri == "" || can(regex("^oss://[a-z0-9][a-z0-9-]{1,61}[a-z0-9](/[A-Za-z0-9!_.'()/=+@:, -]*)?$", var.checkpoint_uri))
    error_message = "checkpoint_uri must be oss://bucket or oss://bucket/prefix, without wildcards."
  }
}

variable "price_limit_rate" {
  description = "What max_price_per_hour is multiplied by, to be in the currency that the account pays in. 1 where both are the same."
  type        = number
  default     = 1

  validation {
    condition     = var.price_limit_rate > 0
    error_message = "price_limit_rate must be above 0."
  }
}

variable "spot_protected_hours" {
  description = "Spot only: hours in which the machine is not taken back, 0 or 1."
  type        = number
  default     = 1

  validation {
    condition     = contains([0, 1], var.spot_protected_hours)
    error_message = "spot_protected_hours must be 0 or 1."
  }
}

variable "internet_mbps" {
  description = "Bandwidth to the internet in Mbps; 0: no public address. Null: 100 in an own network, 0 in a given subnet."
  type        = number
  default     = null

  validation {
    condition     = var.internet_mbps == null ? true : var.internet_mbps >= 0 && var.internet_mbps <= 100 && floor(var.internet_mbps) == var.internet_mbps
    error_message = "internet_mbps must be a whole number from 0 to 100."
  }
}
