"""The tarball: what `cargo binstall` takes the binary from (crates/windlass-cli/Cargo.toml has its layout), and what everybody else unpacks.
Its folder is laid out as the context of packaging/Containerfile."""
from common import tar_gz

BESIDE = ["packaging/Containerfile", "packaging/nginx.conf", "packaging/server.yaml", "packaging/windlass.service", "examples/quickstart.yaml"]


def make(release, out):
    root = f"windlass-{release.version}-{release.platform.target}"
    files = {f"share/{name}": content for name, content in release.shared().items()}
    files.update(release.licences)
    files.update({name: (release.root / name).read_bytes() for name in BESIDE})
    packed = {f"{root}/{name}": (content, False) for name, content in files.items()}
    packed[f"{root}/windlass"] = (release.binary, True)
    tar_gz(out / f"{root}.tar.gz", packed, release.epoch)
