"""The crates that are linked into the binary: their licences, and the list of them as an SBOM (CycloneDX)."""
import json
import os
import re
import uuid
from datetime import datetime, timezone
from pathlib import Path

from common import ran

BINARY = "windlass-cli"
LICENCE = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)([-._].*)?", re.IGNORECASE)


class Workspace:
    def __init__(self, root):
        self.root = root
        # The crates of other systems may not be here.
        self.target = f"{os.uname().machine}-unknown-linux-gnu"
        metadata = json.loads(self.cargo("metadata", "--format-version", "1", "--filter-platform", self.target))
        self.packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
        self.target_folder = Path(metadata["target_directory"])
        self.about = next(package for package in metadata["packages"] if package["name"] == BINARY)
        self.version = self.about["version"]

    def cargo(self, command, *words):
        return ran("cargo", command, "--locked", *words, cwd=self.root, package="https://rustup.rs", hint="`cargo build --locked` must work here")

    def linked(self):
        """The crates of the binary with its default features, and what each depends on: neither macros nor dependencies of builds and tests.
        `cargo metadata` would mix in the features that tests ask for; `cargo tree` resolves as a build does."""
        lines = self.cargo("tree", "--package", BINARY, "--target", self.target, "--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", " {p}")
        linked, parents = {}, []
        for line in lines.splitlines():
            depth, name, version = re.match(r"(\d+) (\S+) v(\S+)", line).groups()
            del parents[int(depth):]
            if parents:
                linked[parents[-1]].add((name, version))
            parents.append((name, version))
            linked.setdefault((name, version), set())
        return linked

    def sbom(self, linked, epoch):
        checksums = self.checksums()
        components = [self.component(crate, checksums) for crate in sorted(linked)]
        main = next(component for component in components if component["name"] == BINARY)
        body = {
            "metadata": {
                "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "component": {**main, "type": "application", "name": "windlass"},
            },
            "components": [component for component in components if component is not main],
            "dependencies": [{"ref": purl(crate), "dependsOn": [purl(other) for other in sorted(linked[crate])]} for crate in sorted(linked)],
        }
        serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
        head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1}
        return (json.dumps({**head, **body}, indent=1) + "\n").encode()

    def checksums(self):
        found = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', (self.root / "Cargo.lock").read_text(encoding="utf-8"))
        return {(name, version): checksum for name, version, checksum in found}

    def component(self, crate, checksums):
        component = {"type": "library", "bom-ref": purl(crate), "name": crate[0], "version": crate[1], "purl": purl(crate)}
        if licence := self.licence(crate):
            component["licenses"] = [{"expression": licence}]
        if checksum := checksums.get(crate):
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return component

    def licence(self, crate):
        # Old crates write a stroke where SPDX has a word.
        return re.sub(r"\s*/\s*", " OR ", self.packages[crate]["license"] or "")

    def licences(self, linked):
        """The texts of all licences, each once, under the crates that come with it."""
        texts = {}
        ours = {crate for crate in linked if self.packages[crate]["source"] is None}
        crates = sorted(set(linked) - ours)
        for crate in crates:
            folder = Path(self.packages[crate]["manifest_path"]).parent
            for path in sorted(folder.rglob("*")):
                if path.is_file() and LICENCE.fullmatch(path.name) and path.suffix not in (".rs", ".py"):
                    text = path.read_text(encoding="utf-8", errors="replace").strip()
                    texts.setdefault(" ".join(text.split()), (text, []))[1].append(f"{crate[0]} {crate[1]}")
        parts = ["The binary `windlass` contains these crates:\n"]
        parts += [f"  {name} {version}: {self.licence((name, version)) or 'see below'}" for name, version in crates]
        for text, names in texts.values():
            parts += ["", "-" * 80, "In " + ", ".join(dict.fromkeys(names)) + ":", "", text]
        return ("\n".join(parts) + "\n").encode()


def purl(crate):
    return f"pkg:cargo/{crate[0]}@{crate[1]}"
