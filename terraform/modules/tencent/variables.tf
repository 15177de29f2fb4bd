# The variables of ../../contract/variables.tf, in its order, with what Tencent Cloud asks of some of them, and its own at the end.

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

  validation {
    condition     = var.expires_at == "" || can(regex("Z$", timeadd(var.expires_at, "0s")))
    error_message = "expires_at must be a time in UTC, such as 2026-12-01T00:00:00Z."
  }
}

variable "labels" {
  description = "Further tags, from the user."
  type        = map(string)
  default     = {}

  validation {
    condition = alltrue([
      for key, value in var.labels :
      can(regex("^[\\p{L}\\p{N} _.:/=+@-]{1,127}$", key)) && can(regex("^[\\p{L}\\p{N} _.:/=+@-]{0,255}$", value)) && !can(regex("^(?i)(qcs:|qcloud|tencent|project)", key))
    ])
    error_message = "labels must be tags that Tencent Cloud takes: up to 127 (key) and 255 (value) letters, digits, spaces and _.:/=+@-, no key beginning with qcs:, qcloud, tencent or project."
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
    condition     = can(regex("^(img-[0-9a-z]+|name:.+)$", var.image))
    error_message = "image must be an image's id (img-…), or name: and a regular expression over the names of public images."
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

  validation {
    condition     = var.access != "session"
    error_message = "Tencent Cloud has no session service that this module uses: access must be ssh or none."
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
    condition     = var.checkpoint_uri == "" || can(regex("^cos://[a-z0-9][a-z0-9-]*-[0-9]{8,12}(/[A-Za-z0-9!_.'()/=+@:, -]*)?$", var.checkpoint_uri))
    error_message = "checkpoint_uri must be cos://bucket-1250000000 or cos://bucket-1250000000/prefix, without wildcards; the bucket lies in the machine's region."
  }
}

variable "disk_type" {
  description = "Kind of the root disk, such as CLOUD_PREMIUM, CLOUD_BSSD or CLOUD_HSSD."
  type        = string
  default     = "CLOUD_PREMIUM"

  validation {
    condition     = can(regex("^CLOUD_[A-Z]+$", var.disk_type))
    error_message = "disk_type must be a kind of cloud disk, such as CLOUD_PREMIUM or CLOUD_HSSD."
  }
}

variable "disk_encrypted" {
  description = "Whether the root disk is encrypted. Tencent Cloud does not let every account and region do so yet."
  type        = bool
  default     = true
}
