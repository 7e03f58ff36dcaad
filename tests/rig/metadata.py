"""What the clouds' metadata services answer to cloud-init, and how their machines tell what they
are. Pure; tests/rig/cloud_link.py serves it.

As strict as the services are where a machine could notice: EC2 answers by IMDSv2 only, Google and
Azure want their header. Sources: Amazon's "Use the Instance Metadata Service", Google's "View and
query VM metadata", Azure's "Azure Instance Metadata Service", and for Azure's wire server the
requests of cloud-init's DataSourceAzure.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.rig.buses import AMAZON_MODEL

METADATA = "169.254.169.254"
WIRE_SERVER = "168.63.129.16"
GUEST = "10.0.0.5"
MAC = "52:54:00:12:34:56"
_TOKEN = "AQAEA-token-of-the-rig=="
_LONGEST_TTL_SECONDS = 21600
_VERSIONS = ("latest", "2009-04-04", "2016-09-02", "2018-09-24", "2021-03-23")
# EC2 says so of a machine by its UUID, Azure by the chassis' asset tag (cloud-init, ds-identify).
_AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"


@dataclass(frozen=True, slots=True)
class Instance:
    """``uuid`` is the SMBIOS's; ``mood`` is empty, or how the service misbehaves: ``absent``,
    ``slow``, ``endless`` or ``garbled``. ``xen`` is a machine of EC2's from before Nitro.
    """

    cloud: str
    id: str
    uuid: str
    host_name: str
    machine_type: str
    key: str = ""
    user_data: str = ""
    mood: str = ""
    xen: bool = False

    def smbios(self) -> list[str]:
        """The values of QEMU's -smbios."""
        if self.cloud == "aws":
            here = f"manufacturer=Amazon EC2,product={self.machine_type}"
            if self.xen:
                here = "manufacturer=Xen,product=HVM domU,version=4.11.amazon"
            return [f"type=1,{here},serial={self.uuid},uuid={self.uuid}"]
        if self.cloud == "azure":
            return [
                "type=1,manufacturer=Microsoft Corporation,product=Virtual Machine"
                f",uuid={self.uuid}",
                f"type=3,manufacturer=Microsoft Corporation,asset={_AZURE_TAG}",
            ]
        return [
            "type=1,manufacturer=Google,product=Google Compute Engine"
            f",serial=GoogleCloud-{self.uuid},uuid={self.uuid}"
        ]

    def drive_model(self) -> str:
        """The model of its local disks (appliance/data/disk_models.toml)."""
        return {
            "aws": AMAZON_MODEL, "azure": "Microsoft NVMe Direct Disk", "gcp": "nvme_card0",
        }[self.cloud]  # fmt: skip

    def name_server(self) -> str:
        return {"aws": "169.254.169.253", "azure": WIRE_SERVER, "gcp": METADATA}[self.cloud]


@dataclass(frozen=True, slots=True)
class Asked:
    """``path`` with its query; names of headers in lower case."""

    method: str
    address: str
    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


_NOT_FOUND = Answer(404, b"not found")


def answer(instance: Instance, asked: Asked) -> Answer:
    return _ANSWERS[instance.cloud](instance, asked)


def _text(found: str) -> Answer:
    return Answer(200, found.encode())


# ------------------------------------------------------------------------------------ EC2


def _aws(instance: Instance, asked: Asked) -> Answer:
    if asked.method == "PUT" and asked.path == "/latest/api/token":
        ttl = asked.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "")
        right = ttl.isdigit() and 0 < int(ttl) <= _LONGEST_TTL_SECONDS
        return _text(_TOKEN) if right else Answer(400)
    if asked.headers.get("x-aws-ec2-metadata-token") != _TOKEN:
        return Answer(401)
    version, _, path = asked.path.lstrip("/").partition("/")
    if asked.method != "GET" or version not in _VERSIONS:
        return _NOT_FOUND
    if path == "user-data":
        return _text(instance.user_data) if instance.user_data else _NOT_FOUND
    found: Any = _aws_tree(instance)
    for part in path.strip("/").split("/"):
        if not isinstance(found, dict) or part not in found:
            return _NOT_FOUND
        found = found[part]
    if isinstance(found, str):
        return _text(found)
    return _text("\n".join(_listed(found)))


def _listed(folder: Mapping[str, Any]) -> Iterator[str]:
    for name, held in folder.items():
        if name.isdigit():
            yield f"{name}=rig"
        else:
            yield name if isinstance(held, str) else f"{name}/"


def _aws_tree(instance: Instance) -> dict[str, Any]:
    network = {
        "device-number": "0", "local-ipv4s": GUEST, "mac": MAC, "vpc-id": "vpc-0a1b",
        "subnet-ipv4-cidr-block": "10.0.0.0/24",
    }  # fmt: skip
    document = {
        "instanceId": instance.id, "instanceType": instance.machine_type, "region": "eu-west-1",
        "architecture": "x86_64",
    }  # fmt: skip
    return {
        "meta-data": {
            "ami-id": "ami-0a1b2c3d",
            "block-device-mapping": {"ami": "/dev/xvda", "root": "/dev/xvda"},
            "hostname": f"{instance.host_name}.eu-west-1.compute.internal",
            "instance-id": instance.id,
            "instance-type": instance.machine_type,
            "local-hostname": f"{instance.host_name}.eu-west-1.compute.internal",
            "mac": MAC,
            "network": {"interfaces": {"macs": {MAC: network}}},
            "placement": {"availability-zone": "eu-west-1a", "region": "eu-west-1"},
            "public-keys": {"0": {"openssh-key": instance.key}},
        },
        "dynamic": {"instance-identity": {"document": json.dumps(document)}},
    }


# ---------------------------------------------------------------------------------- Azure


def _azure(instance: Instance, asked: Asked) -> Answer:
    return (_wire_server if asked.address == WIRE_SERVER else _azure_metadata)(instance, asked)


def _azure_metadata(instance: Instance, asked: Asked) -> Answer:
    path, _, query = asked.path.partition("?")
    if path != "/metadata/instance":
        return _NOT_FOUND
    if asked.headers.get("metadata") != "true" or "api-version=" not in query:
        return Answer(400)
    address = {"privateIpAddress": GUEST, "publicIpAddress": ""}
    document = {
        "compute": {
            "azEnvironment": "AzurePublicCloud", "location": "westeurope",
            "name": instance.host_name, "vmId": instance.id, "vmSize": instance.machine_type,
            "osProfile": {
                "adminUsername": "operator", "computerName": instance.host_name,
                "disablePasswordAuthentication": "true",
            },
            "publicKeys": [
                {"keyData": instance.key, "path": "/home/operator/.ssh/authorized_keys"}
            ],
            "userData": base64.b64encode(instance.user_data.encode()).decode(),
        },
        "extended": {"compute": {"hasCustomData": False, "ppsType": "None"}},
        "network": {
            "interface": [
                {
                    "ipv4": {
                        "ipAddress": [address],
                        "subnet": [{"address": "10.0.0.0", "prefix": "24"}],
                    },
                    "ipv6": {"ipAddress": []},
                    "macAddress": MAC.replace(":", "").upper(),
                }
            ]
        },
    }  # fmt: skip
    return _text(json.dumps(document))


def _wire_server(instance: Instance, asked: Asked) -> Answer:
    if "x-ms-version" not in asked.headers:
        return Answer(400)
    if asked.method == "POST":
        return Answer(200) if "comp=health" in asked.path else _NOT_FOUND
    if "comp=goalstate" not in asked.path:
        return _NOT_FOUND
    return _text(
        '<?xml version="1.0" encoding="utf-8"?><GoalState>'
        "<Version>2012-11-30</Version><Incarnation>1</Incarnation>"
        "<Container><ContainerId>c0ffee</ContainerId><RoleInstanceList><RoleInstance>"
        f"<InstanceId>{instance.id}</InstanceId><State>Started</State>"
        "</RoleInstance></RoleInstanceList></Container></GoalState>"
    )


# ----------------------------------------------------------------------------------- Google


def _gcp(instance: Instance, asked: Asked) -> Answer:
    flavour = (("Metadata-Flavor", "Google"),)
    if asked.headers.get("metadata-flavor") != "Google":
        return Answer(403, headers=flavour)
    attributes = {"ssh-keys": f"operator:{instance.key}"}
    if instance.user_data:
        attributes["user-data"] = instance.user_data
    if instance.machine_type:
        attributes["stripewright-machine-type"] = instance.machine_type
    path = asked.path.partition("?")[0].removeprefix("/computeMetadata/v1").rstrip("/")
    found = {
        "/instance/id": instance.id,
        "/instance/hostname": f"{instance.host_name}.c.rig.internal",
        "/instance/zone": "projects/1/zones/europe-west1-b",
        "/instance/attributes": json.dumps(attributes),
        "/project/attributes": "{}",
    }.get(path)
    if found is None or asked.method != "GET":
        return Answer(404, headers=flavour)
    return Answer(200, found.encode(), flavour)


_ANSWERS: Mapping[str, Callable[[Instance, Asked], Answer]] = {
    "aws": _aws,
    "azure": _azure,
    "gcp": _gcp,
}
