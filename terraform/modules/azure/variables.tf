# The variables of ../../contract/variables.tf, in its order, with what Azure asks of some of them; Azure's own come last.

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
      can(regex("^[^\\p{Cc}<>%&\\\\?/]{1,512}$", key)) && can(regex("^[^\\p{Cc}]{0,256}$", value)) && !can(regex("^(?i)(microsoft|azure|windows)", key))
    ])
    error_message = "labels must be tags that Azure takes: up to 512 (key) and 256 (value) characters, in keys none of < > % & \\ ? / and no beginning with microsoft, azure or windows."
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
    condition     = can(regex("^(|([a-z0-9]+-)?[1-9])$", var.zone))
    error_message = "zone must be a number such as 1, or the region and the number, such as eastus-1."
  }
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

  validation {
    condition     = var.market != "subscription-monthly"
    error_message = "Azure sells on-demand and spot machines, and no machine by the month."
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
    condition     = can(regex("^([A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+|/[A-Za-z0-9_.()/-]+)$", var.image))
    error_message = "image must be publisher:offer:sku:version, or the id of an image of your own (/subscriptions/…) or of a gallery."
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
    error_message = "Azure has no session service that needs no open port and no further machine: access must be ssh or none."
  }
}

variable "ssh_public_key" {
  description = "Public key to log in with. Empty: none."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^(|ssh-(rsa|ed25519) .+)$", trimspace(var.ssh_public_key)))
    error_message = "ssh_public_key must be an RSA or Ed25519 key: Azure takes no other."
  }
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

  validation {
    condition     = var.subnet == "" || can(regex("(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$", var.subnet))
    error_message = "subnet must be a subnet's id: /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…"
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
    # Neither quote nor wildcard: in the condition of the role assignment they would end the text or reach beyond it.
    condition     = var.checkpoint_uri == "" || can(regex("^https://[a-z0-9]{3,24}\\.blob\\.[a-z0-9.]+/[a-z0-9](-?[a-z0-9]){2,62}(/[A-Za-z0-9!_.()/=+@:, -]*)?$", var.checkpoint_uri))
    error_message = "checkpoint_uri must be https://ACCOUNT.blob.core.windows.net/CONTAINER or …/CONTAINER/PREFIX, without wildcards."
  }
}

variable "subscription_id" {
  description = "Subscription in which everything is made; the provider must be set to it."
  type        = string
}

variable "ends_itself" {
  description = "Whether the machine has the right to remove itself, which its time limit needs: powered off it would still be paid for."
  type        = bool
  default     = false
}

variable "end_role" {
  description = "Name of a role of your own, assigned for the resource group, by which the machine removes all of it. Empty: the role Virtual Machine Contributor for the machine alone, by which only the machine is removed."
  type        = string
  default     = ""
}

variable "checkpoint_role" {
  description = "Name of the role that the machine gets for the checkpoint prefix. Empty: Storage Blob Data Contributor."
  type        = string
  default     = ""
}

variable "encryption_at_host" {
  description = "Whether temporary disks and caches are encrypted on the host too. The subscription must have the feature Microsoft.Compute/EncryptionAtHost."
  type        = bool
  default     = false
}
