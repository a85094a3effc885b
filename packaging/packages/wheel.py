"""A wheel whose script is the binary itself: pip puts it into the environment's `bin`, and no Python starts with it."""
import base64
import hashlib

from common import SUMMARY, zipped


def make(release, out):
    # As PEP 440 writes pre-releases.
    version = release.version.replace("-alpha.", "a").replace("-beta.", "b").replace("-rc.", "rc")
    tag = f"py3-none-{release.platform.wheel_tag}"
    data, info = f"windlass-{version}.data", f"windlass-{version}.dist-info"
    files = {f"{data}/scripts/windlass": (release.binary, True)}
    for name, content in release.shared().items():
        files[f"{data}/data/share/{name}"] = (content, False)
    for name, content in release.licences.items():
        files[f"{info}/licenses/{name}"] = (content, False)
    files[f"{info}/sboms/windlass.cdx.json"] = (release.sbom, False)
    files[f"{info}/METADATA"] = (metadata(release, version).encode(), False)
    about = f"Wheel-Version: 1.0\nGenerator: windlass-packaging\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = (about.encode(), False)
    files = dict(sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])))
    record = [f"{name},sha256={digest(content)},{len(content)}" for name, (content, _) in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode(), False
    zipped(out / f"windlass-{version}-{tag}.whl", files, release.epoch)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def metadata(release, version):
    lines = ["Metadata-Version: 2.4", "Name: windlass", f"Version: {version}", f"Summary: {release.about['description']}",
             f"License-Expression: {release.about['license']}"]
    lines += [f"License-File: {name}" for name in release.licences]
    lines += [f"Project-URL: Repository, {release.about['repository']}", "Description-Content-Type: text/plain"]
    return "\n".join(lines) + "\n\n" + SUMMARY
