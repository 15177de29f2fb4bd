# What the machine itself may do: nothing, unless it has a time limit or keeps checkpoints.

locals {
  needs_identity   = var.ends_itself || local.needs_checkpoint
  needs_checkpoint = var.checkpoint_uri != ""
  principal_id     = one(azurerm_linux_virtual_machine.machine.identity[*].principal_id)

  # https://account.blob.core.windows.net/container/some/prefix → account, container, some/prefix
  checkpoint_parts     = local.needs_checkpoint ? regex("^https://([^.]+)\\.blob\\.[^/]+/([^/]+)/?(.*)$", var.checkpoint_uri) : ["", "", ""]
  checkpoint_account   = local.checkpoint_parts[0]
  checkpoint_container = local.checkpoint_parts[1]
  checkpoint_prefix    = trim(local.checkpoint_parts[2], "/")
  checkpoint_accounts  = flatten(data.azurerm_resources.checkpoint[*].resources[*].id)

  blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

  # What changes or reads a blob must name one under the prefix; what lists must ask for names under it.
  checkpoint_objects = join(" AND ", concat(
    ["!(ActionMatches{'${local.blobs}/read'} AND NOT SubOperationMatches{'Blob.List'})"],
    [for action in ["write", "add/action", "delete", "move/action"] : "!(ActionMatches{'${local.blobs}/${action}'})"],
  ))
  checkpoint_lists     = "!(ActionMatches{'${local.blobs}/read'} AND SubOperationMatches{'Blob.List'})"
  checkpoint_condition = "((${local.checkpoint_objects}) OR (@Resource[${local.blobs}:path] StringStartsWith '${local.checkpoint_prefix}/')) AND ((${local.checkpoint_lists}) OR (@Request[${local.blobs}:prefix] StringStartsWith '${local.checkpoint_prefix}/'))"
}

# A machine that powers itself off stays, stopped, and is paid for as before. So at the end of its time it asks Azure to
# remove it, by the token of its own identity; this is the right to do so, and reaches no further than the deployment.
resource "azurerm_role_assignment" "end" {
  count = var.ends_itself ? 1 : 0

  # Names are GUIDs. Made of the deployment's id, so that an assignment can be found that a cut-off run left.
  name  = uuidv5("url", "gpuorch:${var.deployment_id}:end")
  scope = var.end_role == "" ? azurerm_linux_virtual_machine.machine.id : azurerm_resource_group.own.id

  # An assignment carries no tags.
  description = local.resource_name

  role_definition_name = var.end_role == "" ? "Virtual Machine Contributor" : var.end_role
  principal_id         = local.principal_id
  # Said, so that nobody looks the new identity up in the directory, which learns of it only later.
  principal_type = "ServicePrincipal"
}

# The account's name alone says where its data are; a role needs its id.
data "azurerm_resources" "checkpoint" {
  count = local.needs_checkpoint ? 1 : 0

  type = "Microsoft.Storage/storageAccounts"
  name = local.checkpoint_account

  lifecycle {
    postcondition {
      condition     = length(self.resources) == 1
      error_message = "Subscription ${var.subscription_id} has no storage account ${local.checkpoint_account} that may be seen."
    }
  }
}

resource "azurerm_role_assignment" "checkpoint" {
  count = local.needs_checkpoint ? 1 : 0

  name  = uuidv5("url", "gpuorch:${var.deployment_id}:checkpoint")
  scope = "${local.checkpoint_accounts[0]}/blobServices/default/containers/${local.checkpoint_container}"

  description = local.resource_name

  role_definition_name = var.checkpoint_role == "" ? "Storage Blob Data Contributor" : var.checkpoint_role
  principal_id         = local.principal_id
  principal_type       = "ServicePrincipal"

  condition_version = local.checkpoint_prefix == "" ? null : "2.0"
  condition         = local.checkpoint_prefix == "" ? null : local.checkpoint_condition
}
