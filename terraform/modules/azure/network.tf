# An own network of one subnet, or the subnet that was given.

locals {
  own_network = var.subnet == ""

  # An own network has no NAT gateway: it costs by the hour and by every GB, and training data are many. Azure gives new
  # networks no way out by default, so the machine has an address of its own; the security group lets nobody in by it. In
  # a given subnet the way out is the owner's matter, and there is an address only for SSH.
  public_address = local.own_network || var.access == "ssh"

  # Sizes of the NCv3 series are refused with it.
  accelerated_networking = !can(regex("^Standard_NC[0-9]+r?s_v3$", var.instance_type))
}

resource "azurerm_virtual_network" "own" {
  count = local.own_network ? 1 : 0

  name                = local.resource_name
  resource_group_name = azurerm_resource_group.own.name
  location            = azurerm_resource_group.own.location
  # One machine lives here and nothing is peered with it, so any private block serves.
  address_space = ["10.86.0.0/24"]

  tags = local.tags
}

resource "azurerm_subnet" "own" {
  count = local.own_network ? 1 : 0

  name                            = "machine"
  resource_group_name             = azurerm_resource_group.own.name
  virtual_network_name            = azurerm_virtual_network.own[0].name
  address_prefixes                = ["10.86.0.0/24"]
  default_outbound_access_enabled = false
}

resource "azurerm_public_ip" "machine" {
  count = local.public_address ? 1 : 0

  name                = local.resource_name
  resource_group_name = azurerm_resource_group.own.name
  location            = azurerm_resource_group.own.location
  # Standard addresses are static, and closed until a security group opens them.
  sku               = "Standard"
  allocation_method = "Static"
  zones             = local.zone == null ? null : [local.zone]

  tags = local.tags
}

resource "azurerm_network_interface" "machine" {
  name                           = local.resource_name
  resource_group_name            = azurerm_resource_group.own.name
  location                       = azurerm_resource_group.own.location
  accelerated_networking_enabled = local.accelerated_networking

  ip_configuration {
    name                          = "primary"
    subnet_id                     = local.own_network ? azurerm_subnet.own[0].id : var.subnet
    private_ip_address_allocation = "Dynamic"
    public_ip_address_id          = one(azurerm_public_ip.machine[*].id)
  }

  tags = local.tags
}
