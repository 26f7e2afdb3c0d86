//! With the feature `scx`: compiles `scx/q2c.bpf.c` with clang to `q2c.bpf.o` in cargo's `OUT_DIR`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const NAMES: [&str; 5] = ["clang-19", "clang-18", "clang-17", "clang-16", "clang"];
/// The oldest version that keeps all bits of 64-bit enumerations.
const OLDEST_CLANG: u32 = 16;

fn main() {
    println!("cargo::rerun-if-changed=scx");
    println!("cargo::rerun-if-env-changed=SCX_CLANG");
    if env::var_os("CARGO_FEATURE_SCX").is_none() {
        return;
    }
    if let Err(reason) = compile() {
        println!("cargo::error={reason}");
    }
}

fn compile() -> Result<(), String> {
    let clang = find_clang()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("q2c.bpf.o");
    let output = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-std=gnu11", "-O2", "-g"])
        .args(["-Wall", "-Wextra", "-Werror", "-fno-stack-protector"])
        .args(["-I", "scx", "-c", "scx/q2c.bpf.c", "-o"])
        .arg(&out)
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            for line in String::from_utf8_lossy(&output.stderr).lines() {
                println!("cargo::warning={line}");
            }
            Err(format!(
                "failed to compile scx/q2c.bpf.c with {clang}; its words are above"
            ))
        }
        Err(error) => Err(format!("failed to run {clang}: {error}")),
    }
}

fn find_clang() -> Result<String, String> {
    let named = env::var("SCX_CLANG").ok();
    let names: Vec<&str> = named.as_deref().map_or(NAMES.to_vec(), |name| vec![name]);
    let fits = |name: &&&str| version(name).is_some_and(|version| version >= OLDEST_CLANG);
    let compiler = names.iter().find(fits).map(|name| (*name).to_owned());
    compiler.ok_or_else(|| {
        format!(
            "failed to find clang {OLDEST_CLANG} or newer, which compiles the sched_ext scheduler (tried {}); install it \
             (Debian: apt-get install clang-19) or name it in SCX_CLANG",
            names.join(", ")
        )
    })
}

/// The major version: 19 of `Debian clang version 19.1.7 (...)`.
fn version(name: &str) -> Option<u32> {
    let output = Command::new(name).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, number) = text.split_once("version ")?;
    number.split('.').next()?.trim().parse().ok()
}
