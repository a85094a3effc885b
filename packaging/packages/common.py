"""What all packages share: the contents, archives that have the same bytes each time, programs that are asked."""
import gzip
import io
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

SUMMARY = """\
Windlass runs agents: a language model calls tools, sees their results and continues until it answers. Every turn is kept in a log, so that a
run goes on after a crash where it stood. This package has the command line and the server, which are one program.
"""


class Failed(Exception):
    """What went wrong, and what to do about it."""

    def __init__(self, message, hint):
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True)
class Release:
    root: Path
    about: dict  # description, licence and repository, as Cargo has them
    version: str
    epoch: int  # the time of every file
    platform: object
    binary: bytes
    pages: dict  # name: page
    completions: dict  # shell: (name, script)
    licences: dict  # name: text
    sbom: bytes

    def shared(self, zsh="zsh/site-functions"):
        """Manual pages and completions below a folder `share`."""
        folders = {"bash": "bash-completion/completions", "zsh": zsh, "fish": "fish/vendor_completions.d"}
        files = {f"man/man1/{name}": page for name, page in self.pages.items()}
        files.update({f"{folders[shell]}/{name}": script for shell, (name, script) in self.completions.items()})
        return files


def ran(program, *words, package=None, hint=None, **options):
    """What a program prints. `package` is what brings it, `hint` what to do if it fails."""
    command = [str(word) for word in (program, *words)]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL, **options)
    except OSError as error:
        install = f"install it: {package}" if package else None
        raise Failed(f"cannot start {program}: {error.strerror}", install or hint or "see docs/install.md") from error
    if done.returncode != 0:
        reason = done.stderr.strip() or f"it ended with {done.returncode}"
        raise Failed(f"{Path(program).name} {' '.join(command[1:])} failed: {reason}", hint or f"`{' '.join(command)}` by hand shows more")
    return done.stdout.strip()


def tar_gz(path, files, epoch):
    """Writes a tarball of `files`: path: (bytes, whether it is a program)."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=epoch) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, (data, runs) in sorted(files.items()):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime = len(data), 0o755 if runs else 0o644, epoch
                entry.uname = entry.gname = "root"
                tar.addfile(entry, io.BytesIO(data))
    path.write_bytes(packed.getvalue())


def zipped(path, files, epoch):
    """Writes a zip of `files`, in their order: path: (bytes, whether it is a program)."""
    moment = datetime.fromtimestamp(max(epoch, 315532800), timezone.utc)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, runs) in files.items():
            entry = zipfile.ZipInfo(name, moment.timetuple()[:6])
            entry.create_system, entry.external_attr = 3, (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
