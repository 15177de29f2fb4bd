# The machine itself, and the resource group that holds everything. The network, the ways in and the rights stand in
# network.tf, access.tf and identity.tf.

locals {
  # The one place where a name is unavoidable; made of the id, because a deployment's name may come back.
  resource_name = "gpuorch-${var.deployment_id}"

  # Azure takes any text in a tag's value, up to 256 characters; control characters would only spoil listings.
  tag_text = {
    for key, value in {
      "gpuorch:name"       = var.name
      "gpuorch:profile"    = var.profile
      "gpuorch:owner"      = var.owner
      "gpuorch:expires-at" = var.expires_at
    } : key => substr(replace(value, "/\\p{Cc}/", "_"), 0, 256)
    if value != ""
  }

  # Azure does not tell upper from lower case in a tag's key; what the user's labels say of ours is left out, so that
  # none can hide a machine from the search by tag.
  tags = merge(
    { for key, value in var.labels : key => value if !startswith(lower(key), "gpuorch:") },
    local.tag_text,
    {
      "gpuorch:deployment" = var.deployment_id
      "gpuorch:managed-by" = "gpuorch"
    },
  )

  # 1, 2 or 3; the price book may say eastus-1.
  zone = var.zone == "" ? null : trimprefix(var.zone, "${var.region}-")

  # publisher:offer:sku:version, or the id of an image.
  image_is_id = startswith(var.image, "/")
  image_parts = split(":", var.image)

  # Azure asks for a price in whole hundred-thousandths; rounded down, so that it is never above the limit.
  max_bid_price = var.max_price_per_hour == null ? -1 : floor(tonumber(var.max_price_per_hour) * 100000) / 100000

  # An s among the small letters of a size says that it takes premium disks.
  premium = can(regex("^Standard_[A-Z]+[0-9]+(-[0-9]+)?[a-z]*s", var.instance_type))

  # Azure makes no Linux machine without a password that has no key either. Where the user gave none, it gets this one:
  # a point on the curve whose 32 bytes are SHA-256 of "gpuorch: nobody has the private half of this key (0)". It was
  # not made from a private key, so there is none. A generated pair would leave its private half in Terraform's state.
  nobodys_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH6DyjXJLC2Y5R9JNht7tcyktndJq2bE2kiKzaLfDrxq"
}

# Whatever is in the group goes with it: also a disk that an interrupted creation left behind.
resource "azurerm_resource_group" "own" {
  name     = local.resource_name
  location = var.region

  tags = local.tags

  lifecycle {
    postcondition {
      condition     = startswith(lower(self.id), "/subscriptions/${lower(var.subscription_id)}/")
      error_message = "The provider is set to another subscription than ${var.subscription_id}."
    }
  }
}

resource "azurerm_linux_virtual_machine" "machine" {
  name                = local.resource_name
  resource_group_name = azurerm_resource_group.own.name
  location            = azurerm_resource_group.own.location
  size                = var.instance_type
  zone                = local.zone

  network_interface_ids = [azurerm_network_interface.machine.id]

  custom_data = base64encode(var.user_data)

  admin_username                  = local.admin_username
  disable_password_authentication = true

  admin_ssh_key {
    username   = local.admin_username
    public_key = var.ssh_public_key == "" ? local.nobodys_key : trimspace(var.ssh_public_key)
  }

  priority        = var.market == "spot" ? "Spot" : "Regular"
  eviction_policy = var.market == "spot" ? "Delete" : null
  max_bid_price   = var.market == "spot" ? local.max_bid_price : null

  source_image_id = local.image_is_id ? var.image : null

  dynamic "source_image_reference" {
    for_each = local.image_is_id ? [] : [local.image_parts]

    content {
      publisher = source_image_reference.value[0]
      offer     = source_image_reference.value[1]
      sku       = source_image_reference.value[2]
      version   = source_image_reference.value[3]
    }
  }

  # Azure encrypts every managed disk with keys of its own.
  os_disk {
    name                 = local.resource_name
    caching              = "ReadWrite"
    storage_account_type = local.premium ? "Premium_LRS" : "StandardSSD_LRS"
    disk_size_gb         = var.disk_gib
  }

  encryption_at_host_enabled = var.encryption_at_host

  # Nobody who may only manage extensions can run programs on the machine.
  allow_extension_operations = false

  dynamic "identity" {
    for_each = local.needs_identity ? ["SystemAssigned"] : []

    content {
      type = identity.value
    }
  }

  # Empty: Azure keeps the serial console's log itself.
  boot_diagnostics {}

  tags = local.tags

  # Without the group of rules the machine would start into a network that nobody watches.
  depends_on = [azurerm_network_interface_security_group_association.machine]

  lifecycle {
    # source_image_*: "latest" means the newest at the time of the launch; another image must not replace a machine that
    # is at work.
    # custom_data: cloud-init reads it once, at the first boot, and Azure never shows it again, so that after an import
    # every plan would replace the machine. To boot with other user data, make a new deployment.
    ignore_changes = [custom_data, source_image_id, source_image_reference]
  }
}
