//! Compiles every `probes/NAME/NAME.bpf.c` with clang to `NAME.bpf.o` in cargo's `OUT_DIR`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    for folder in ["bpf", "probes"] {
        println!("cargo::rerun-if-changed={folder}");
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let probes = fs::read_dir("probes").expect("the folder probes is part of this crate");
    for probe in probes {
        let folder = probe.expect("a folder's entry").path();
        if let Err(reason) = compile(&folder, &out) {
            println!("cargo::error={reason}");
        }
    }
}

fn compile(folder: &Path, out: &Path) -> Result<(), String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let source = folder.join(format!("{name}.bpf.c"));
    let object = out.join(format!("{name}.bpf.o"));
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let mut command = Command::new(&clang);
    command
        .args(["-target", "bpf", "-mcpu=v2", "-std=gnu11", "-O2", "-g"])
        .args(["-Wall", "-Wextra", "-Werror", "-fno-stack-protector"])
        .arg(format!("-D{}", target()?))
        .args(["-I", "bpf", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object);
    let clang = clang.to_string_lossy();
    match command.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            // Each line of the compiler's messages becomes a warning, which cargo shows with the
            // error.
            for line in String::from_utf8_lossy(&done.stderr).lines() {
                println!("cargo::warning={line}");
            }
            Err(format!(
                "failed to compile {} with {clang}; its words are above (q2c needs clang 11 or newer with the bpf target)",
                source.display()
            ))
        }
        Err(error) => Err(format!(
            "failed to run {clang}, which compiles q2c's BPF programs: {error}; install it (Debian: apt-get install clang) \
             or name another one in CLANG"
        )),
    }
}

/// The macro that names the processor in `bpf/q2c.h`. The programs need it because they read a
/// kernel function's arguments from the processor's registers.
fn target() -> Result<&'static str, String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    match arch.as_str() {
        "x86_64" => Ok("Q2C_X86_64"),
        "aarch64" => Ok("Q2C_ARM64"),
        _ => Err(format!(
            "failed to compile the BPF programs for {arch}: expected x86_64 or aarch64"
        )),
    }
}
