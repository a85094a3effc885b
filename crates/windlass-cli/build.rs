//! Links a release with the options that make the binary smaller, if this machine's linker and loader know them.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Equal functions whose address nobody takes become one (by LLD alone), and relocations are packed (0.75 MB, for a loader that reads them: glibc
/// 2.36).
const OPTIONS: [&str; 2] = ["-Wl,--icf=safe", "-Wl,-z,pack-relative-relocs"];

#[expect(clippy::disallowed_methods, reason = "Cargo reads what a build script prints")]
fn main() -> io::Result<()> {
    let mut cargo = io::stdout();
    writeln!(cargo, "cargo::rerun-if-changed=build.rs")?;
    let variable = |name| env::var(name).unwrap_or_default();
    // What cannot be tried here is left alone.
    if variable("PROFILE") != "release" || variable("HOST") != variable("TARGET") {
        return Ok(());
    }
    for option in OPTIONS.into_iter().filter(|option| works(option)) {
        writeln!(cargo, "cargo::rustc-link-arg-bins={option}")?;
    }
    Ok(())
}

/// Whether a program that is linked so can be built, and runs.
fn works(option: &str) -> bool {
    let (Some(rustc), Some(out)) = (env::var_os("RUSTC"), env::var_os("OUT_DIR")) else { return false };
    let (source, program) = (Path::new(&out).join("tried.rs"), Path::new(&out).join("tried"));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let linker = env::var("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}"));
    let mut build = Command::new(rustc);
    build.args(flags.split('\x1f').filter(|flag| !flag.is_empty())).args(linker.ok());
    build.args(["--edition=2024"]).arg(format!("-Clink-arg={option}")).arg("-o").arg(&program).arg(&source);
    std::fs::write(&source, "fn main() { println!(\"{}\", 1 + std::env::args().count()); }\n").is_ok()
        && succeeds(&mut build)
        && succeeds(&mut Command::new(&program))
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
