"""An npm package whose `bin` is the binary itself: npm links it, and no Node starts with it, which would take 40 ms or more.
npm can do so on systems with links and for one platform a package, which `os`, `cpu` and `libc` name: npm refuses others."""
import json

from common import SUMMARY, tar_gz


def make(release, out):
    shared = {f"share/{name}": content for name, content in release.shared().items()}
    package = {
        "name": "windlass",
        "version": release.version,
        "description": release.about["description"],
        "license": f"({release.about['license']})",
        "repository": {"type": "git", "url": f"git+{release.about['repository']}.git"},
        "bin": {"windlass": "bin/windlass"},
        "man": [f"./{name}" for name in shared if name.startswith("share/man/")],
        "os": ["linux"],
        "cpu": [release.platform.node],
        "libc": ["glibc"],
    }
    files = {**shared, **release.licences, "README.md": SUMMARY.encode(), "package.json": (json.dumps(package, indent=2) + "\n").encode()}
    # The layout of `npm pack`, without a need for npm.
    packed = {f"package/{name}": (content, False) for name, content in files.items()}
    packed["package/bin/windlass"] = (release.binary, True)
    tar_gz(out / f"windlass-{release.version}-npm-linux-{release.platform.node}.tgz", packed, release.epoch)
