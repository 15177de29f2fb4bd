# terraform init && terraform test. No cloud is asked: the provider is a mock that knows the real schema.

mock_provider "azurerm" {
  mock_resource "azurerm_resource_group" {
    defaults = {
      id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/gpuorch-gtest0001"
    }
  }

  mock_resource "azurerm_subnet" {
    defaults = {
      id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/gpuorch-gtest0001/providers/Microsoft.Network/virtualNetworks/gpuorch-gtest0001/subnets/machine"
    }
  }

  mock_resource "azurerm_public_ip" {
    defaults = {
      id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/gpuorch-gtest0001/providers/Microsoft.Network/publicIPAddresses/gpuorch-gtest0001"
    }
  }

  mock_resource "azurerm_network_security_group" {
    defaults = {
      id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/gpuorch-gtest0001/providers/Microsoft.Network/networkSecurityGroups/gpuorch-gtest0001"
    }
  }

  mock_resource "azurerm_network_interface" {
    defaults = {
      id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/gpuorch-gtest0001/providers/Microsoft.Network/networkInterfaces/gpuorch-gtest0001"
    }
  }

  mock_resource "azurerm_linux_virtual_machine" {
    defaults = {
      id = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/gpuorch-gtest0001/providers/Microsoft.Compute/virtualMachines/gpuorch-gtest0001"
    }
  }

  mock_data "azurerm_resources" {
    defaults = {
      resources = [{
        id                  = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/stores/providers/Microsoft.Storage/storageAccounts/acct123"
        name                = "acct123"
        type                = "Microsoft.Storage/storageAccounts"
        location            = "eastus"
        resource_group_name = "stores"
        tags                = {}
      }]
    }
  }
}

variables {
  subscription_id = "11111111-2222-3333-4444-555555555555"
  deployment_id   = "gtest0001"
  name            = "train"
  owner           = "ada"
  profile         = "a100x8"
  region          = "eastus"
  instance_type   = "Standard_ND96asr_v4"
  market          = "spot"
  image           = "microsoft-dsvm:ubuntu-hpc:2204:latest"
  user_data       = "#cloud-config\n"
}

run "spot_without_a_way_in" {
  command = plan

  assert {
    condition     = azurerm_linux_virtual_machine.machine.priority == "Spot" && azurerm_linux_virtual_machine.machine.eviction_policy == "Delete"
    error_message = "An evicted machine must not stay, deallocated, with its disk paid for."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.max_bid_price == -1
    error_message = "Without a limit the price may go up to the on-demand price."
  }

  assert {
    condition     = length(azurerm_network_security_group.machine.security_rule) == 0
    error_message = "Nobody may reach a machine that has no access."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.disable_password_authentication && one(azurerm_linux_virtual_machine.machine.admin_ssh_key[*]).public_key == local.nobodys_key
    error_message = "Without a key of the user's the machine has the one that nobody has the private half of."
  }

  assert {
    condition     = length(azurerm_linux_virtual_machine.machine.identity) == 0 && length(azurerm_role_assignment.end) == 0 && length(azurerm_role_assignment.checkpoint) == 0
    error_message = "Without a time limit and a checkpoint place the machine may do nothing."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.allow_extension_operations == false
    error_message = "Extensions run programs as root for whoever may manage them."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.zone == null && azurerm_public_ip.machine[0].zones == null
    error_message = "No zone was said."
  }

  assert {
    condition     = azurerm_subnet.own[0].default_outbound_access_enabled == false && azurerm_public_ip.machine[0].sku == "Standard"
    error_message = "The way out is the machine's own address, which is closed until a rule opens it."
  }
}

run "on_demand_with_ssh" {
  command = plan

  variables {
    market            = "on-demand"
    zone              = "eastus-2"
    access            = "ssh"
    ssh_public_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH6DyjXJLC2Y5R9JNht7tcyktndJq2bE2kiKzaLfDrxq ada\n"
    ssh_allowed_cidrs = ["203.0.113.7/32", "2001:db8::/64"]
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.priority == "Regular" && azurerm_linux_virtual_machine.machine.eviction_policy == null && azurerm_linux_virtual_machine.machine.max_bid_price == null
    error_message = "Azure refuses what belongs to spot on another machine."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.zone == "2" && one(azurerm_public_ip.machine[0].zones) == "2"
    error_message = "The zone is Azure's number, for the address as well."
  }

  assert {
    condition     = [for rule in azurerm_network_security_group.machine.security_rule : rule.destination_port_range] == ["22", "22"]
    error_message = "Port 22 and nothing else, with a rule for each family of addresses."
  }

  assert {
    condition     = toset(flatten([for rule in azurerm_network_security_group.machine.security_rule : tolist(rule.source_address_prefixes)])) == toset(["203.0.113.7/32", "2001:db8::/64"])
    error_message = "From the stated addresses only."
  }

  assert {
    condition     = endswith(one(azurerm_linux_virtual_machine.machine.admin_ssh_key[*]).public_key, " ada")
    error_message = "The user's key, without the line's end."
  }
}

run "price_limit_is_rounded_down" {
  command = plan

  variables {
    max_price_per_hour = "5.9833456789"
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.max_bid_price == 5.98334
    error_message = "Azure takes five decimals, and the limit must never be exceeded."
  }
}

run "given_subnet_and_no_way_in" {
  command = plan

  variables {
    subnet = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/nets/providers/Microsoft.Network/virtualNetworks/net/subnets/gpus"
    image  = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/images/providers/Microsoft.Compute/images/mine"
  }

  assert {
    condition     = length(azurerm_virtual_network.own) == 0 && length(azurerm_public_ip.machine) == 0
    error_message = "In a given subnet nothing public is made unless SSH was asked for."
  }

  assert {
    condition     = azurerm_network_interface.machine.ip_configuration[0].subnet_id == var.subnet
    error_message = "The given subnet is used."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.source_image_id == var.image && length(azurerm_linux_virtual_machine.machine.source_image_reference) == 0
    error_message = "An image of one's own is named by its id."
  }
}

run "time_limit_and_checkpoints" {
  command = apply

  variables {
    ends_itself    = true
    checkpoint_uri = "https://acct123.blob.core.windows.net/ckpt/run/1/"
  }

  assert {
    condition     = azurerm_role_assignment.end[0].scope == azurerm_linux_virtual_machine.machine.id && azurerm_role_assignment.end[0].role_definition_name == "Virtual Machine Contributor"
    error_message = "The built-in role reaches no further than the machine itself."
  }

  assert {
    condition     = azurerm_role_assignment.end[0].name == uuidv5("url", "gpuorch:gtest0001:end") && azurerm_role_assignment.end[0].description == "gpuorch-gtest0001"
    error_message = "An assignment can be found by its name and description."
  }

  assert {
    condition     = azurerm_role_assignment.checkpoint[0].scope == "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/stores/providers/Microsoft.Storage/storageAccounts/acct123/blobServices/default/containers/ckpt"
    error_message = "The role reaches no further than the container."
  }

  assert {
    condition     = azurerm_role_assignment.checkpoint[0].condition_version == "2.0" && length(regexall("StringStartsWith 'run/1/'", azurerm_role_assignment.checkpoint[0].condition)) == 2
    error_message = "Objects and lists are limited to the prefix."
  }

  assert {
    condition     = output.market == "spot" && output.zone == "" && output.image == "microsoft-dsvm:ubuntu-hpc:2204:latest"
    error_message = "The outputs say what was made."
  }
}

run "a_role_of_ones_own_removes_the_whole_group" {
  command = apply

  variables {
    ends_itself     = true
    end_role        = "gpuorch machine"
    checkpoint_uri  = "https://acct123.blob.core.windows.net/ckpt"
    checkpoint_role = "gpuorch checkpoints"
  }

  assert {
    condition     = azurerm_role_assignment.end[0].scope == azurerm_resource_group.own.id && azurerm_role_assignment.end[0].role_definition_name == "gpuorch machine"
    error_message = "The role is given for the group."
  }

  assert {
    condition     = azurerm_role_assignment.checkpoint[0].role_definition_name == "gpuorch checkpoints" && azurerm_role_assignment.checkpoint[0].condition == null
    error_message = "Without a prefix the whole container is meant."
  }
}

run "hostile_text_in_tags" {
  command = plan

  variables {
    owner  = "a\nb<c>%d&e\\f?g/h"
    name   = "train"
    labels = { "team" = "vision", "GPUORCH:Deployment" = "stolen" }
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.tags["gpuorch:owner"] == "a_b<c>%d&e\\f?g/h"
    error_message = "Only control characters are replaced."
  }

  assert {
    condition     = azurerm_linux_virtual_machine.machine.tags["gpuorch:deployment"] == "gtest0001" && !contains(keys(azurerm_linux_virtual_machine.machine.tags), "GPUORCH:Deployment") && azurerm_linux_virtual_machine.machine.tags["team"] == "vision"
    error_message = "A label must not be able to hide a machine from the search by tag."
  }
}

run "sizes_of_v100" {
  command = plan

  variables {
    instance_type = "Standard_NC6s_v3"
  }

  assert {
    condition     = azurerm_network_interface.machine.accelerated_networking_enabled == false && azurerm_linux_virtual_machine.machine.os_disk[0].storage_account_type == "Premium_LRS"
    error_message = "NCv3 is refused with accelerated networking, and takes premium disks."
  }
}

# The group is there already, by the runs above.
run "another_subscription_than_the_providers" {
  command = plan

  variables {
    subscription_id = "99999999-2222-3333-4444-555555555555"
  }

  expect_failures = [azurerm_resource_group.own]
}

run "a_session_is_not_to_be_had" {
  command = plan

  variables {
    access = "session"
  }

  expect_failures = [var.access]
}

run "nor_is_a_month" {
  command = plan

  variables {
    market = "subscription-monthly"
  }

  expect_failures = [var.market]
}

run "a_quote_in_the_checkpoint_place" {
  command = plan

  variables {
    checkpoint_uri = "https://acct123.blob.core.windows.net/ckpt/x' OR 'a"
  }

  expect_failures = [var.checkpoint_uri]
}

run "wrong_words" {
  command = plan

  variables {
    zone           = "us-east-1a"
    image          = "ami-01234567"
    subnet         = "subnet-0123456789abcdef0"
    ssh_public_key = "ecdsa-sha2-nistp256 AAAA"
    labels         = { "a/b" = "c" }
  }

  expect_failures = [var.zone, var.image, var.subnet, var.ssh_public_key, var.labels]
}

run "the_whole_internet" {
  command = plan

  variables {
    access            = "ssh"
    ssh_allowed_cidrs = ["0.0.0.0/0"]
  }

  expect_failures = [var.ssh_allowed_cidrs]
}
