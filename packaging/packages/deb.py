"""The Debian package. dpkg-deb puts it together, and checks its control file."""
import gzip
import os
import tempfile
from pathlib import Path

from common import Failed, SUMMARY, ran

EXAMPLES = ["packaging/nginx.conf", "packaging/server.yaml", "packaging/windlass.service", "examples/quickstart.yaml"]
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Windlass
Source: {repository}
Comment: The binary also contains the crates that windlass.cdx.json lists; THIRD-PARTY-LICENSES has their licences.

Files: *
{copyright}
License: Expat or Apache-2.0

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
{expat}
"""


def make(release, out):
    # A pre-release is older than its release.
    version = release.version.replace("-", "~")
    name = f"windlass_{version}_{release.platform.debian}.deb"
    files = {"usr/bin/windlass": release.binary}
    for path, content in release.shared(zsh="zsh/vendor-completions").items():
        is_page = path.startswith("man/")
        files[f"usr/share/{path}{'.gz' if is_page else ''}"] = gzip.compress(content, 9, mtime=0) if is_page else content
    doc = "usr/share/doc/windlass"
    files[f"{doc}/copyright"] = copyright_of(release).encode()
    files[f"{doc}/THIRD-PARTY-LICENSES"] = release.licences["THIRD-PARTY-LICENSES"]
    files[f"{doc}/windlass.cdx.json"] = release.sbom
    files[f"{doc}/changelog.gz"] = gzip.compress((release.root / "CHANGELOG.md").read_bytes(), 9, mtime=0)
    for path in EXAMPLES:
        files[f"{doc}/examples/{Path(path).name}"] = (release.root / path).read_bytes()
    unit = f"{doc}/examples/windlass.service"
    if b"ExecStart=/usr/local/bin/windlass " not in files[unit]:
        raise Failed("packaging/windlass.service starts another program than /usr/local/bin/windlass", "packaging/packages/deb.py puts /usr/bin in its place")
    files[unit] = files[unit].replace(b"ExecStart=/usr/local/bin/", b"ExecStart=/usr/bin/")
    kilobytes = sum(-(-len(content) // 1024) for content in files.values())
    files["DEBIAN/control"] = control(release, version, kilobytes).encode()
    with tempfile.TemporaryDirectory() as root:
        lay_out(Path(root), files, release.epoch)
        # One thread: how many there are changes the bytes.
        ran("dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, out / name,
            package="apt-get install dpkg", env={**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)})


def control(release, version, kilobytes):
    first, *rest = SUMMARY.strip().splitlines()
    return "\n".join([
        "Package: windlass",
        f"Version: {version}",
        "Section: utils",
        "Priority: optional",
        f"Architecture: {release.platform.debian}",
        f"Maintainer: The Windlass founders <{release.about['repository']}/issues>",
        f"Installed-Size: {kilobytes}",
        f"Depends: {release.platform.depends}",
        # TLS trusts the system's certificates.
        "Recommends: ca-certificates",
        f"Homepage: {release.about['repository']}",
        "Description: durable agent loops with language models",
        *(f" {line}" for line in (first, *rest)),
    ]) + "\n"


def copyright_of(release):
    lines = release.licences["LICENSE-MIT"].decode().strip().splitlines()
    holder = next((line for line in lines if line.startswith("Copyright ")), None)
    if holder is None:
        raise Failed("LICENSE-MIT names no holder of the copyright", "it needs a line that begins with `Copyright `")
    expat = lines[lines.index(holder) + 1:]
    text = "\n".join(f" {line}" if line.strip() else " ." for line in "\n".join(expat).strip().splitlines())
    return COPYRIGHT.format(repository=release.about["repository"], copyright=holder.replace("Copyright", "Copyright:", 1), expat=text)


def lay_out(root, files, epoch):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if name == "usr/bin/windlass" else 0o644)
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (epoch, epoch))
