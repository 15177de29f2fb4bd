"""What a machine asks Azure for by itself: bash, curl and the token of its own identity.

Endpoints: learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token (the token),
learn.microsoft.com/azure/virtual-machines/instance-metadata-service (the machine's own id),
learn.microsoft.com/rest/api/resources/resource-groups/delete, …/compute/virtual-machines/delete and
…/storageservices/put-blob. A token goes to curl by its standard input: arguments can be read by everybody on a machine.
"""

from __future__ import annotations

from typing import Final

__all__ = ["END_COMMAND", "INSTALL_GRID", "UPLOAD_COMMAND"]

_TOKEN = (
    'ask() {{ curl -fsS --retry 3 -m 40 "$@"; }}; m=http://169.254.169.254/metadata; '
    't=$(ask -H Metadata:true "$m/identity/oauth2/token?api-version=2018-02-01&resource=https://{audience}/"); '
    't=${{t#*access_token\\":\\"}}; t="Authorization: Bearer ${{t%%\\"*}}"; '
)

# The group first, which takes disk, address and network with it; that needs a role of the user's own. With the built-in
# role it is refused, and then the machine alone goes.
_END = (
    "set -e; "
    + _TOKEN.format(audience="management.azure.com")
    + 'id=$(ask -H Metadata:true "$m/instance/compute/resourceId?api-version=2021-02-01&format=text"); '
    'for one in "${id%%/providers/*}?api-version=2021-04-01&forceDeletionTypes=Microsoft.Compute/virtualMachines" '
    '"$id?api-version=2024-07-01&forceDeletion=true"; '
    'do ! ask -X DELETE -H @- "https://management.azure.com$one" <<<"$t" || exit 0; done; exit 1'
)

_UPLOAD = (
    "set -e; " + _TOKEN.format(audience="storage.azure.com") + 'd=$(LC_ALL=C date -u "+%a, %d %b %Y %T GMT"); '
    'ask -H @- -H "x-ms-date: $d" -H "x-ms-version: 2021-12-02" -H "x-ms-blob-type: BlockBlob" -T "$1" "$2" <<<"$t"'
)

# Shares of an A10 (and the whole one) need NVIDIA's GRID driver, which Azure redistributes with its licence:
# learn.microsoft.com/azure/virtual-machines/linux/n-series-driver-setup, "Install GRID drivers on NV or NVads-series".
_GRID = (
    "set -e; export DEBIAN_FRONTEND=noninteractive; "
    'printf "blacklist nouveau\\nblacklist lbm-nouveau\\n" >/etc/modprobe.d/nouveau.conf; '
    "rmmod nouveau 2>/dev/null || :; "
    "apt-get -qo DPkg::Lock::Timeout=600 update; "
    'apt-get -qyo DPkg::Lock::Timeout=600 install build-essential dkms "linux-headers-$(uname -r)"; '
    'f=/var/tmp/grid.run; curl -fsSL --retry 5 -o $f "https://go.microsoft.com/fwlink/?linkid=874272"; '
    "sh $f --silent --dkms; rm -f $f; "
    'c=/etc/nvidia/gridd.conf; sed "/^FeatureType=/d" $c.template >$c; '
    'printf "IgnoreSP=FALSE\\nEnableUI=FALSE\\n" >>$c; systemctl restart nvidia-gridd; modprobe nvidia'
)

END_COMMAND: Final = ("bash", "-c", _END)
UPLOAD_COMMAND: Final = ("bash", "-c", _UPLOAD, "upload", "{file}", "{uri}")
INSTALL_GRID: Final = ("bash", "-c", _GRID)
