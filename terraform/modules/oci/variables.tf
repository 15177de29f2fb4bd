# The variables of ../../contract/variables.tf, in its order, with what OCI asks of some of them, then its own.

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
    condition     = alltrue([for key in keys(var.labels) : can(regex("^[A-Za-z0-9_-]{1,100}$", key))])
    error_message = "labels must be free-form tags that OCI takes: keys of up to 100 letters, digits, _ and -."
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

  validation {
    condition     = var.market != "subscription-monthly"
    error_message = "OCI sells on-demand and preemptible capacity, and no monthly subscription."
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
    condition     = can(regex("^(ocid1\\.image\\.[a-z0-9.-]+|name:.{1,200})$", var.image))
    error_message = "image must be an image's OCID (ocid1.image.…) or name: and a regular expression for its name."
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
    # Neither quotes nor *: inside a policy they would end the word or be a pattern, and reach beyond the prefix.
    condition     = var.checkpoint_uri == "" || can(regex("^oci://[A-Za-z0-9._-]{1,256}@[A-Za-z0-9_-]+(\\.[a-z]+(-[a-z]+)+-[0-9]+)?(/[A-Za-z0-9!_.()/=+: -]*)?$", var.checkpoint_uri))
    error_message = "checkpoint_uri must be oci://bucket@namespace/prefix, or oci://bucket@namespace.region/prefix, without wildcards."
  }
}

variable "compartment_id" {
  description = "OCID of the compartment in which everything is made, or of the tenancy for its root."
  type        = string

  validation {
    condition     = can(regex("^ocid1\\.(compartment|tenancy)\\.[a-z0-9.-]+$", var.compartment_id))
    error_message = "compartment_id must be the OCID of a compartment (ocid1.compartment.…) or tenancy (ocid1.tenancy.…)."
  }
}

variable "home_region" {
  description = "The tenancy's home region, for which the provider oci.home is configured: the only one in which a policy can be written. Empty: none is written."
  type        = string
  default     = ""
}

variable "machine_rights" {
  description = "policy: a policy lets the machine end itself and use the checkpoint prefix. none: an administrator has seen to that."
  type        = string
  default     = "policy"

  validation {
    condition     = contains(["policy", "none"], var.machine_rights)
    error_message = "machine_rights must be policy or none."
  }
}

variable "flex_ocpus" {
  description = "OCPUs of a flexible shape. Null for a fixed one, as all with GPUs are."
  type        = number
  default     = null
}

variable "flex_memory_gib" {
  description = "Memory of a flexible shape. Null for a fixed one."
  type        = number
  default     = null
}
