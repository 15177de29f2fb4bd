# Who reaches the machine: port 22 from the stated addresses, or nobody.

locals {
  admin_username = "azureuser"

  ssh_cidrs = var.access == "ssh" ? var.ssh_allowed_cidrs : []

  # One rule cannot hold addresses of both kinds.
  ssh_rules = {
    for name, cidrs in {
      "ssh"    = [for cidr in local.ssh_cidrs : cidr if !strcontains(cidr, ":")]
      "ssh-v6" = [for cidr in local.ssh_cidrs : cidr if strcontains(cidr, ":")]
    } : name => cidrs if length(cidrs) > 0
  }
}

# Besides these rules, Azure's own let in what is in the same network and let out everything.
resource "azurerm_network_security_group" "machine" {
  name                = local.resource_name
  resource_group_name = azurerm_resource_group.own.name
  location            = azurerm_resource_group.own.location

  # Written as a list, because no block at all would mean "whatever is there": an empty list means none. A list has to
  # name every attribute.
  security_rule = [for number, name in keys(local.ssh_rules) : {
    name                                       = name
    description                                = "SSH from the stated addresses"
    priority                                   = 100 + number
    direction                                  = "Inbound"
    access                                     = "Allow"
    protocol                                   = "Tcp"
    source_port_range                          = "*"
    source_port_ranges                         = []
    source_address_prefix                      = ""
    source_address_prefixes                    = local.ssh_rules[name]
    source_application_security_group_ids      = []
    destination_port_range                     = "22"
    destination_port_ranges                    = []
    destination_address_prefix                 = "*"
    destination_address_prefixes               = []
    destination_application_security_group_ids = []
  }]

  tags = local.tags
}

resource "azurerm_network_interface_security_group_association" "machine" {
  network_interface_id      = azurerm_network_interface.machine.id
  network_security_group_id = azurerm_network_security_group.machine.id
}
