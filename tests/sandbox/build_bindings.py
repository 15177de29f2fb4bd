"""A wheel with CDKTF bindings of a small provider that does not exist, written as the generator writes them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

_MACHINE = """\
function machineDiskToHclTerraform(struct) {
    const attrs = {
        size: {
            value: cdktf.numberToHclTerraform(struct.size),
            isBlock: false,
            type: "simple",
            storageClassType: "number",
        },
        kinds: {
            value: cdktf.listMapperHcl(cdktf.stringToHclTerraform, false)(struct.kinds),
            isBlock: false,
            type: "set",
            storageClassType: "stringList",
        },
    };
    return attrs;
}
class MachineDiskOutputReference extends cdktf.ComplexObject {
    get size() {
        return this.getNumberAttribute('size');
    }
    set size(value) {
        this._size = value;
    }
    get kinds() {
        return cdktf.Fn.tolist(this.getListAttribute('kinds'));
    }
    set kinds(value) {
        this._kinds = value;
    }
    resetKinds() {
        this._kinds = undefined;
    }
    // serial - computed: true, optional: false, required: false
    get serial() {
        return this.getStringAttribute('serial');
    }
}
class MachineDiskList extends cdktf.ComplexList {
    get(index) {
        return new MachineDiskOutputReference(this.terraformResource, this.terraformAttribute, index, true);
    }
}
class MachineBootOutputReference extends cdktf.ComplexObject {
    get image() {
        return this.getStringAttribute('image');
    }
    set image(value) {
        this._image = value;
    }
    resetImage() {
        this._image = undefined;
    }
}
function machineBootToHclTerraform(struct) {
    const attrs = {
        image: {
            value: cdktf.stringToHclTerraform(struct.image),
            isBlock: false,
            type: "simple",
            storageClassType: "string",
        },
    };
    return attrs;
}
class MachineAddressOutputReference extends cdktf.ComplexObject {
    // ip - computed: true, optional: false, required: false
    get ip() {
        return this.getStringAttribute('ip');
    }
}
class MachineAddressList extends cdktf.ComplexList {
}
class MachineTimeoutsOutputReference extends cdktf.ComplexObject {
    get create() {
        return this.getStringAttribute('create');
    }
    set create(value) {
        this._create = value;
    }
    resetCreate() {
        this._create = undefined;
    }
}
class Machine extends cdktf.TerraformResource {
    constructor(scope, id, config) {
        // boot - computed: false, optional: false, required: true
        this._boot = new MachineBootOutputReference(this, "boot");
        // disk - computed: false, optional: true, required: false
        this._disk = new MachineDiskList(this, "disk", true);
        // addresses - computed: true, optional: false, required: false
        this._addresses = new MachineAddressList(this, "addresses", false);
        // all_labels - computed: true, optional: false, required: false
        this._allLabels = new cdktf.StringMap(this, "all_labels");
        // timeouts - computed: false, optional: true, required: false
        this._timeouts = new MachineTimeoutsOutputReference(this, "timeouts");
    }
    get name() {
        return this.getStringAttribute('name');
    }
    set name(value) {
        this._name = value;
    }
    get id() {
        return this.getStringAttribute('id');
    }
    set id(value) {
        this._id = value;
    }
    resetId() {
        this._id = undefined;
    }
    get labels() {
        return this.getStringMapAttribute('labels');
    }
    set labels(value) {
        this._labels = value;
    }
    resetLabels() {
        this._labels = undefined;
    }
    get boot() {
        return this._boot;
    }
    putBoot(value) {
        this._boot.internalValue = value;
    }
    get disk() {
        return this._disk;
    }
    putDisk(value) {
        this._disk.internalValue = value;
    }
    resetDisk() {
        this._disk.internalValue = undefined;
    }
    get timeouts() {
        return this._timeouts;
    }
    putTimeouts(value) {
        this._timeouts.internalValue = value;
    }
    resetTimeouts() {
        this._timeouts.internalValue = undefined;
    }
    synthesizeHclAttributes() {
        const attrs = {
            name: {
                value: cdktf.stringToHclTerraform(this._name),
                isBlock: false,
                type: "simple",
                storageClassType: "string",
            },
            id: {
                value: cdktf.stringToHclTerraform(this._id),
                isBlock: false,
                type: "simple",
                storageClassType: "string",
            },
            labels: {
                value: cdktf.hashMapperHcl(cdktf.stringToHclTerraform)(this._labels),
                isBlock: false,
                type: "map",
                storageClassType: "stringMap",
            },
            boot: {
                value: machineBootToHclTerraform(this._boot.internalValue),
                isBlock: true,
                type: "list",
                storageClassType: "MachineBootList",
            },
            disk: {
                value: cdktf.listMapperHcl(machineDiskToHclTerraform, true)(this._disk.internalValue),
                isBlock: true,
                type: "set",
                storageClassType: "MachineDiskList",
            },
            timeouts: {
                value: machineTimeoutsToHclTerraform(this._timeouts.internalValue),
                isBlock: true,
                type: "struct",
                storageClassType: "MachineTimeouts",
            },
        };
        return attrs;
    }
}
Machine.tfResourceType = "tiny_machine";
"""
_ZONES = """\
class DataZones extends cdktf.TerraformDataSource {
    // names - computed: true, optional: false, required: false
    get names() {
        return this.getListAttribute('names');
    }
    synthesizeHclAttributes() {
        const attrs = {
        };
    }
}
DataZones.tfResourceType = "tiny_zones";
"""
_PROVIDER = """\
function tinyProviderRetriesOnToHclTerraform(struct) {
    const attrs = {
        codes: {
            value: cdktf.listMapperHcl(cdktf.numberToHclTerraform, false)(struct.codes),
            isBlock: false,
            type: "list",
            storageClassType: "numberList",
        },
    };
    return attrs;
}
function tinyProviderRetriesToHclTerraform(struct) {
    const attrs = {
        most: {
            value: cdktf.numberToHclTerraform(struct.most),
            isBlock: false,
            type: "simple",
            storageClassType: "number",
        },
        on: {
            value: cdktf.listMapperHcl(tinyProviderRetriesOnToHclTerraform, true)(struct.on),
            isBlock: true,
            type: "list",
            storageClassType: "TinyProviderRetriesOnList",
        },
    };
    return attrs;
}
class TinyProvider extends cdktf.TerraformProvider {
    get region() {
        return this._region;
    }
    resetRegion() {
        this._region = undefined;
    }
    get realm() {
        return this._realm;
    }
    synthesizeHclAttributes() {
        const attrs = {
            region: {
                value: cdktf.stringToHclTerraform(this._region),
                isBlock: false,
                type: "simple",
                storageClassType: "string",
            },
            realm: {
                value: cdktf.stringToHclTerraform(this._realm),
                isBlock: false,
                type: "simple",
                storageClassType: "string",
            },
            retries: {
                value: cdktf.listMapperHcl(tinyProviderRetriesToHclTerraform, true)(this._retries),
                isBlock: true,
                type: "list",
                storageClassType: "TinyProviderRetriesList",
            },
        };
    }
}
TinyProvider.tfResourceType = "tiny";
"""


def a_wheel(folder: Path) -> Path:
    package = {"cdktf": {"provider": {"name": "example/tiny", "version": "1.2.3"}}}
    files = {
        "package/package.json": json.dumps(package),
        "package/lib/machine/index.js": _MACHINE,
        "package/lib/data-zones/index.js": _ZONES,
        "package/lib/provider/index.js": _PROVIDER,
    }
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    wheel = folder / "cdktf_tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("cdktf_tiny/_jsii/provider-tiny@1.0.jsii.tgz", inner.getvalue())
    return wheel
