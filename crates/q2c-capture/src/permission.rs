//! Checks if this process may load BPF programs, and names possible reasons of a refusal.

use crate::ProbeError;
use itertools::Itertools;
use q2c_host::Roots;
use q2c_host::capabilities::{BPF, PERFMON, SYS_ADMIN, has, remedy};
use q2c_host::kernel_config::KernelConfig;
use q2c_host::kernel_version::{
    BPF_CAPABILITIES, BPF_MAPS_UNLOCKED, KernelVersion, kernel_version,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;

/// Fails when a capability is lacking, or when the kernel has no type information (BTF).
pub(crate) fn check(roots: &Roots) -> Result<(), ProbeError> {
    let path = roots.proc("self/status");
    let status = fs::read_to_string(&path).map_err(|source| ProbeError::Read { path, source })?;
    if let Some(lacking) = lacking_caps(&status, release(roots)) {
        let todo = remedy(rustix::process::geteuid().is_root());
        return Err(ProbeError::Capability { lacking, todo });
    }
    let path = roots.sys("kernel/btf/vmlinux");
    let exists = path.exists();
    exists.then_some(()).ok_or(ProbeError::NoTypes { path })
}

/// The running kernel's major and minor version; `None` when it cannot be read.
pub(crate) fn release(roots: &Roots) -> Option<KernelVersion> {
    let text = fs::read_to_string(roots.proc("sys/kernel/osrelease")).ok()?;
    kernel_version(text.trim())
}

/// The capabilities that are lacking to load programs that read kernel memory. CAP_BPF and
/// CAP_PERFMON exist since Linux 5.8; before, CAP_SYS_ADMIN is needed.
fn lacking_caps(status: &str, release: Option<KernelVersion>) -> Option<String> {
    if has(status, SYS_ADMIN) {
        return None;
    }
    if release.is_some_and(|r| r < BPF_CAPABILITIES) {
        return Some("CAP_SYS_ADMIN".to_owned());
    }
    let needed = [(BPF, "CAP_BPF"), (PERFMON, "CAP_PERFMON")].into_iter();
    let missing = needed.filter(|(number, _)| !has(status, *number));
    let missing = missing.map(|(_, name)| name).join(" and ");
    (!missing.is_empty()).then(|| format!("{missing} (or CAP_SYS_ADMIN)"))
}

/// Raises the process's limit of locked memory before Linux 5.11, where the memory of BPF maps
/// counts as locked. A refusal is ignored here, because making the maps fails then.
pub(crate) fn raise_memlock(roots: &Roots) {
    if release(roots).is_some_and(|r| r < BPF_MAPS_UNLOCKED) {
        let (current, maximum) = (None, None);
        let unlimited = Rlimit { current, maximum };
        setrlimit(Resource::Memlock, unlimited).ok();
    }
}

/// Possible reasons why the kernel refused, in words.
pub(crate) fn hints(roots: &Roots) -> String {
    let mut hints = Vec::new();
    let lockdown = fs::read_to_string(roots.sys("kernel/security/lockdown")).unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        hints.push("the kernel is locked down (confidentiality): BPF may not read its memory");
    }
    if release(roots).is_some_and(|r| r < BPF_MAPS_UNLOCKED) {
        hints.push("before Linux 5.11 maps need locked memory: see `ulimit -l`");
    }
    let config = KernelConfig::read(roots);
    let lacks = |option: &str| config.as_ref().is_some_and(|config| !config.has(option));
    let tracing_options = ["FUNCTION_TRACER", "KPROBES"].into_iter();
    let missing = tracing_options.filter(|option| lacks(option));
    let missing = missing.map(|o| format!("CONFIG_{o}")).join(" and ");
    let untraced =
        format!("this kernel is built without {missing}, and may refuse programs on its functions");
    if !missing.is_empty() {
        hints.push(&untraced);
    }
    hints.push("a container or a seccomp filter may forbid bpf() or perf_event_open()");
    hints.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(caps: &[u32]) -> String {
        let mask = caps.iter().fold(0_u64, |mask, bit| mask | 1 << bit);
        format!("Name:\tq2c\nCapPrm:\t000001ffffffffff\nCapEff:\t{mask:016x}\nSeccomp:\t0\n")
    }

    #[test]
    fn the_lacking_capability_is_named() {
        let lacking_with = |caps: &[u32], release| lacking_caps(&status(caps), Some(release));
        assert_eq!(lacking_with(&[21], (5, 10)), None);
        assert_eq!(lacking_with(&[38, 39], (5, 10)), None);
        let expected = "CAP_PERFMON (or CAP_SYS_ADMIN)";
        assert_eq!(lacking_with(&[39], (5, 10)).unwrap(), expected);
        let both = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN)";
        assert_eq!(lacking_with(&[], (6, 1)).unwrap(), both);
        assert_eq!(lacking_caps("nothing here", None).unwrap(), both);
        assert_eq!(lacking_with(&[38, 39], (5, 4)).unwrap(), "CAP_SYS_ADMIN");
    }

    #[test]
    fn a_kernel_without_types_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        fs::create_dir_all(roots.proc("self")).unwrap();
        fs::write(roots.proc("self/status"), status(&[21])).unwrap();
        let error = check(&roots).unwrap_err().to_string();
        assert!(error.contains("CONFIG_DEBUG_INFO_BTF"), "{error}");
        fs::create_dir_all(roots.sys("kernel/btf")).unwrap();
        fs::write(roots.sys("kernel/btf/vmlinux"), "").unwrap();
        assert!(check(&roots).is_ok());
    }
}
