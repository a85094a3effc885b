"""Where a binary runs, as its own headers say."""
import os
import re
from dataclasses import dataclass

from common import Failed, ran

# As readelf names it: as Rust and wheels, Debian, and Node name it.
MACHINES = {"Advanced Micro Devices X86-64": ("x86_64", "amd64", "x64"), "AArch64": ("aarch64", "arm64", "arm64")}
# Libraries by the Debian package that has them. Wheels may need these and no others (PEP 600).
LIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
LIBGCC = "libgcc_s.so.1"
ELSEWHERE = "packages are for Linux with glibc; elsewhere: cargo install --path crates/windlass-cli"


@dataclass(frozen=True)
class Platform:
    machine: str
    debian: str
    node: str
    glibc: tuple  # the oldest that has all symbols which the binary needs
    depends: str  # the same, as Debian writes it

    @property
    def target(self):
        return f"{self.machine}-unknown-linux-gnu"

    @property
    def wheel_tag(self):
        return f"manylinux_{self.glibc[0]}_{self.glibc[1]}_{self.machine}"

    @classmethod
    def of(cls, binary):
        with binary.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                raise Failed(f"{binary} is not a program for Linux", ELSEWHERE)
        headers = ran("readelf", "--wide", "--file-header", "--program-headers", "--dynamic", "--version-info", binary,
                      package="apt-get install binutils", env={**os.environ, "LC_ALL": "C"})
        machine = re.search(r"Machine: +(.+)", headers)[1].strip()
        if machine not in MACHINES:
            raise Failed(f"{binary} is for {machine}", "packages are made for x86_64 and aarch64")
        if "program interpreter: /lib" not in headers or "/ld-linux" not in headers:
            raise Failed(f"{binary} does not use glibc's loader", ELSEWHERE)
        names = MACHINES[machine]
        if names[0] != os.uname().machine:
            raise Failed(f"{binary} is for {names[0]}, and this machine is {os.uname().machine}",
                         f"make its packages on {names[0]}: the manual pages and completions come from the binary itself")
        needed = set(re.findall(r"Shared library: \[(.+?)\]", headers))
        if unknown := needed - LIBC - {LIBGCC}:
            raise Failed(f"{binary} needs {', '.join(sorted(unknown))}, which no package may take for granted", "link it statically")
        glibc = newest(r"\bGLIBC_(\d+)\.(\d+)", headers)
        # Packed relocations are no symbol: their mark is a version that glibc 2.36 was the first to have.
        if "GLIBC_ABI_DT_RELR" in headers:
            glibc = max(glibc, (2, 36))
        depends = f"libc6 (>= {glibc[0]}.{glibc[1]})"
        if LIBGCC in needed:
            gcc = newest(r"\bGCC_(\d+)\.(\d+)", headers)
            depends += f", libgcc-s1 (>= {gcc[0]}.{gcc[1]})"
        return cls(*names, glibc=glibc, depends=depends)


def newest(pattern, headers):
    return max((int(major), int(minor)) for major, minor in re.findall(pattern, headers))
