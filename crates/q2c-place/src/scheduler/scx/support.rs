//! What the kernel says about sched_ext.

use super::ScxError;
use q2c_host::Roots;
use q2c_host::tasks::{isolated, list};
use std::fs;

/// Checks what can be known before anything is loaded.
///
/// # Errors
/// The kernel has no sched_ext, CPUs are isolated, or another scheduler is loaded.
pub fn check(roots: &Roots) -> Result<(), ScxError> {
    let state = text(roots, "state").ok_or(ScxError::NoSchedExt)?;
    let isolated = isolated(roots);
    if !isolated.is_empty() {
        return Err(ScxError::Isolated {
            cpus: list(&isolated),
        });
    }
    let off = fs::read_to_string(roots.proc("sys/net/core/bpf_jit_enable"));
    if off.is_ok_and(|text| text.trim() == "0") {
        return Err(ScxError::NoJit);
    }
    match state.as_str() {
        "disabled" => Ok(()),
        _ => Err(ScxError::Busy {
            name: text(roots, "root/ops").unwrap_or(state),
        }),
    }
}

/// Whether the kernel schedules by q2c's scheduler.
#[must_use]
pub fn in_force(roots: &Roots) -> bool {
    let ops = text(roots, "root/ops");
    let ours = ops.is_some_and(|name| name.starts_with(super::NAME));
    ours && text(roots, "state").as_deref() == Some("enabled")
}

fn text(roots: &Roots, file: &str) -> Option<String> {
    let text = fs::read_to_string(roots.sys("kernel/sched_ext").join(file)).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots::under(dir.path());
        (dir, roots)
    }

    const OFF: (&str, &str) = ("sys/kernel/sched_ext/state", "disabled\n");

    #[test]
    fn each_obstacle_has_its_words() {
        let obstacle = |files: &[(&str, &str)]| {
            let (_dir, roots) = made(files);
            check(&roots).map_err(|error| error.to_string())
        };
        assert_eq!(obstacle(&[OFF]), Ok(()));
        assert!(obstacle(&[]).unwrap_err().contains("no sched_ext"));
        let isolated = ("sys/devices/system/cpu/isolated", "2-3\n");
        assert!(
            obstacle(&[OFF, isolated])
                .unwrap_err()
                .contains("isolcpus=2-3")
        );
        let jit = ("proc/sys/net/core/bpf_jit_enable", "0\n");
        assert!(
            obstacle(&[OFF, jit])
                .unwrap_err()
                .contains("bpf_jit_enable")
        );
        let on = [
            ("sys/kernel/sched_ext/state", "enabled\n"),
            ("sys/kernel/sched_ext/root/ops", "scx_lavd\n"),
        ];
        assert!(obstacle(&on).unwrap_err().contains("`scx_lavd` is loaded"));
        let (_dir, roots) = made(&on);
        assert!(!in_force(&roots));
    }
}
