"""Own keys for Secure Boot, and the image signed with them: ``make secure-boot-keys KEYS=FOLDER``,
then ``make cloud-image CLOUD=aws KEYS=FOLDER``.

Signed is all that UEFI starts: systemd-boot, and the unified kernel image with its initrd and
command line. The kernel itself, and thereby its modules, has Debian's signature. GRUB is for BIOS,
which checks nothing.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.rig import tools
from tests.rig.build import TREE, tools_tree
from tests.rig.diskimage import BootFilesystem
from tests.rig.errors import RigError

# Platform key, key exchange key and signature database (UEFI specification 2.10, 32.3).
_DATABASES = ("PK", "KEK", "db")
_VALID_DAYS = 3650
_UEFI_DATA = "uefi-data"
_AZURE_VERSION = "azure-version.json"
_NEEDED = ("db.key", "db.pem")


def make_keys(folder: Path) -> None:
    """A key pair for each database, and what the clouds take of them, in a new ``folder``.

    The certificates are there as PEM, and as DER for GCP; EC2 takes its whole store of variables,
    Azure a gallery's image version. Private keys are for their owner alone.
    """
    if folder.exists():
        raise RigError(f"{folder} already exists", "name a new folder: keys are never overwritten")
    if folder.absolute().resolve().is_relative_to(TREE):
        raise RigError(
            f"{folder} is in the source tree",
            "name a folder outside it, so that no commit takes the keys",
        )
    try:
        beside = tempfile.TemporaryDirectory(dir=folder.absolute().parent)
    except OSError as error:
        raise RigError(f"{folder} cannot be made: {error.strerror}", "name another") from error
    with beside as name:
        made = Path(name) / "keys"
        made.mkdir(mode=0o700)
        for database in _DATABASES:
            _make_key(made, database)
        _virt_fw_vars(*_enrolling(made), "--output-aws", str(made / _UEFI_DATA))
        (made / _AZURE_VERSION).write_text(json.dumps(_azure_version(made), indent=2) + "\n")
        made.rename(folder)


def _make_key(folder: Path, database: str) -> None:
    key, certificate = folder / f"{database}.key", folder / f"{database}.pem"
    _openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-sha256", "-noenc", "-days", str(_VALID_DAYS),
        "-config", str(tools_tree() / "etc/ssl/openssl.cnf"),
        "-subj", f"/CN=stripewright {database}", "-keyout", str(key), "-out", str(certificate),
    )  # fmt: skip
    _openssl("x509", "-in", str(certificate), "-outform", "der",
             "-out", str(certificate.with_suffix(".der")))  # fmt: skip


def _azure_version(folder: Path) -> dict[str, object]:
    """The body of a gallery's image version (Microsoft.Compute/galleries/images/versions,
    2024-03-03): Microsoft's own keys, and ours for signatures. Words in capitals are the user's.
    """
    account = "/subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Storage"
    source = {
        "storageAccountId": f"{account}/storageAccounts/ACCOUNT",
        "uri": "https://ACCOUNT.blob.core.windows.net/images/stripewright.vhd",
    }
    certificate = base64.b64encode((folder / "db.der").read_bytes()).decode()
    return {
        "location": "LOCATION",
        "properties": {
            "publishingProfile": {"targetRegions": [{"name": "LOCATION"}]},
            "storageProfile": {"osDiskImage": {"source": source}},
            "securityProfile": {
                "uefiSettings": {
                    "signatureTemplateNames": ["MicrosoftUefiCertificateAuthorityTemplate"],
                    "additionalSignatures": {"db": [{"type": "x509", "value": [certificate]}]},
                }
            },
        },
    }


def sign(disk: Path, keys: Path) -> None:
    """Sign every EFI program on ``disk``, in place, and read the signatures back."""
    if missing := [name for name in _NEEDED if not (keys / name).is_file()]:
        raise RigError(
            f"{keys} has no {missing[0]}", "make secure-boot-keys KEYS=FOLDER makes the keys"
        )
    certificate = str(keys / "db.pem")
    files = BootFilesystem(disk)
    programs = [path for path in files.paths() if path.lower().endswith(".efi")]
    if not programs:
        raise RigError(f"{disk} has no EFI program", "a defect of the image")
    with tempfile.TemporaryDirectory() as folder:
        plain, signed = Path(folder) / "plain", Path(folder) / "signed"
        for path in programs:
            files.copy_out(path, plain)
            _run(*tools.argv("sbsign"), "--key", str(keys / "db.key"), "--cert", certificate,
                 "--output", str(signed), str(plain))  # fmt: skip
            files.copy_in(signed, path)
            files.copy_out(path, plain)
            _run(*tools.argv("sbverify"), "--cert", certificate, str(plain))


def sign_copy(disk: Path, keys: Path, target: Path) -> None:
    """The same with a sparse copy of ``disk``."""
    _run("cp", "--sparse=always", str(disk), str(target))
    sign(target, keys)


def enrolled(keys: Path, variables: Path) -> None:
    """Write OVMF's ``variables`` with the keys in them and Secure Boot on."""
    empty = tools_tree() / "usr/share/OVMF/OVMF_VARS_4M.fd"
    _virt_fw_vars("--input", str(empty), *_enrolling(keys), "--secure-boot",
                  "--output", str(variables))  # fmt: skip


def _enrolling(folder: Path) -> Iterator[str]:
    # Of whose keys these are, only that they are of one owner.
    owner = str(uuid.uuid4())
    for option, database in zip(("--set-pk", "--add-kek", "--add-db"), _DATABASES, strict=True):
        yield from (option, owner, str(folder / f"{database}.pem"))


def _openssl(*arguments: str) -> None:
    _run(*tools.argv("openssl"), *arguments)


def _virt_fw_vars(*arguments: str) -> None:
    python = [*tools.argv("python3"), str(tools_tree() / "usr/bin/virt-fw-vars")]
    _run(*python, *arguments, PYTHONHOME=str(tools_tree() / "usr"))


def _run(*argv: str, **environment: str) -> None:
    done = subprocess.run(
        argv, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr + done.stdout).strip().splitlines()[-1:]
        # A program of the tree of tools is started by its loader, with the path of its libraries.
        program = argv[3] if "ld-linux" in argv[0] else argv[0]
        raise RigError(f"{Path(program).name}: {''.join(last)}", f"it ran as: {' '.join(argv)}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("keys", type=Path)
    keys = options.parse_args().keys
    try:
        make_keys(keys)
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{keys} has the keys; keep PK.key, KEK.key and db.key secret")
    return 0


if __name__ == "__main__":
    sys.exit(main())
