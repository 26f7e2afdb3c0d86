//! Keeps the messages of libbpf, which say why a load failed.

use itertools::Itertools;
use libbpf_rs::{PrintLevel, set_print};
use std::sync::Mutex;

static MESSAGES: Mutex<String> = Mutex::new(String::new());

pub(super) fn start_collecting() {
    take_messages();
    set_print(Some((PrintLevel::Debug, append)));
}

pub(super) fn take_messages() -> String {
    let log = MESSAGES.lock();
    log.map_or_else(|_| String::new(), |mut log| std::mem::take(&mut *log))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the type that libbpf-rs asks for"
)]
fn append(_: PrintLevel, line: String) {
    if let Ok(mut log) = MESSAGES.lock() {
        *log += &line;
    }
}

/// Functions of `extern (func ksym) 'NAME': func_proto [1] incompatible with vmlinux [2]`.
pub(super) fn incompatible(words: &str) -> Vec<String> {
    let lines = words
        .lines()
        .filter(|line| line.contains("incompatible with"));
    let name = |line: &str| {
        let (_, quoted) = line.split_once("(func ksym) '")?;
        quoted.split('\'').next().map(str::to_owned)
    };
    let mut names: Vec<String> = lines.filter_map(name).collect();
    names.dedup();
    names
}

/// Functions of the verifier's lines `kfunc 'NAME' is referenced but wasn't resolved`.
pub(super) fn unresolved(words: &str) -> Vec<String> {
    let name = |line: &str| {
        let (_, quoted) = line.split_once("kfunc '")?;
        let (name, tail) = quoted.split_once('\'')?;
        tail.contains("wasn't resolved").then(|| name.to_owned())
    };
    let mut names: Vec<String> = words.lines().filter_map(name).collect();
    names.sort();
    names.dedup();
    names
}

pub(super) fn last_messages(words: &str) -> String {
    let verifier = words.split("-- END PROG LOAD LOG --").next();
    let verifier = verifier.and_then(|before| before.rsplit_once("-- BEGIN PROG LOAD LOG --"));
    let mut messages: Vec<&str> = verifier.map_or_else(Vec::new, |(_, log)| log.lines().collect());
    let is_count =
        |line: &str| line.starts_with("processed ") || line.starts_with("verification time");
    messages.retain(|line| !line.trim().is_empty() && !is_count(line));
    if !messages.is_empty() {
        return join_last(&messages, 4);
    }
    let failures = ["fail", "error", "invalid", "not "];
    let lines = words
        .lines()
        .filter_map(|line| line.strip_prefix("libbpf: "));
    let failed = lines.filter(|line| failures.iter().any(|word| line.contains(word)));
    join_last(&failed.collect::<Vec<_>>(), 3)
}

fn join_last(lines: &[&str], max_lines: usize) -> String {
    let last_lines = &lines[lines.len().saturating_sub(max_lines)..];
    last_lines.iter().map(|line| line.trim()).join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_libbpf() {
        let log = "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': func_proto [3] incompatible with vmlinux [77]\n\
            libbpf: loaded kernel BTF\nlibbpf: failed to load object 'q2c'\n";
        assert_eq!(incompatible(log), ["scx_bpf_kick_cpu"]);
        assert!(last_messages(log).ends_with("failed to load object 'q2c'"));
        let unknown = "210: (b7) r2 = 1\n211: <invalid kfunc call>\n\
            kfunc 'scx_bpf_kick_cpu' is referenced but wasn't resolved\n";
        assert_eq!(unresolved(unknown), ["scx_bpf_kick_cpu"]);
        let refused = "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n; x = y\n1: (85) call\n\
            invalid access\nprocessed 2 insns\n-- END PROG LOAD LOG --\nlibbpf: failed\n";
        let expected = "0: R1=ctx(); ; x = y; 1: (85) call; invalid access";
        assert_eq!(last_messages(refused), expected);
    }
}
