use super::RestoreError;
use crate::{Roots, attr};
use serde::{Deserialize, Serialize};
use std::io;

/// A process, identified for all time: by boot, id and start.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The boot's id, from `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Process id.
    pub pid: u32,
    /// Start of the process in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_time: u64,
}

impl Owner {
    /// The running process itself.
    pub fn current(roots: &Roots) -> Result<Owner, RestoreError> {
        Owner::of_process(roots, std::process::id())
    }

    /// The running process `pid`.
    pub(crate) fn of_process(roots: &Roots, pid: u32) -> Result<Owner, RestoreError> {
        let fail = |path, what: &str| RestoreError::Owner {
            path,
            source: io::Error::new(io::ErrorKind::InvalidData, what.to_owned()),
        };
        let boot = roots.proc("sys/kernel/random/boot_id");
        let stat = roots.proc(&format!("{pid}/stat"));
        Ok(Owner {
            boot_id: attr::text(&boot).ok_or_else(|| fail(boot, "no boot id"))?,
            pid,
            start_time: start_time(roots, pid).ok_or_else(|| fail(stat, "no start time"))?,
        })
    }

    pub(crate) fn of_this_boot(&self, roots: &Roots) -> bool {
        attr::text(&roots.proc("sys/kernel/random/boot_id")).as_ref() == Some(&self.boot_id)
    }

    /// Whether the process still runs: a process of the present boot has its id and its start time.
    pub fn is_alive(&self, roots: &Roots) -> bool {
        self.of_this_boot(roots) && start_time(roots, self.pid) == Some(self.start_time)
    }
}

/// Field 22 of `/proc/PID/stat`. `None` for a process that is gone, or is a zombie: that has ended.
/// The name in field 2 may hold spaces and brackets.
fn start_time(roots: &Roots, pid: u32) -> Option<u64> {
    let text = attr::text(&roots.proc(&format!("{pid}/stat")))?;
    let (_, after_name) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    // The state is field 3, the first here, so field 22 has index 19.
    let start = fields.get(19)?.parse().ok()?;
    (!ended).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_a_later_namesake_does_not_count() {
        let roots = Roots::live();
        let me = Owner::current(&roots).unwrap();
        assert!(me.is_alive(&roots));
        let earlier = Owner {
            start_time: me.start_time - 1,
            ..me.clone()
        };
        let other_boot = Owner {
            boot_id: "x".into(),
            ..me
        };
        assert!(!earlier.is_alive(&roots) && !other_boot.is_alive(&roots));
    }

    #[test]
    fn names_with_brackets_and_zombies() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        std::fs::create_dir_all(roots.proc("7")).unwrap();
        let stat = |state| {
            format!("7 (a) b (c) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n")
        };
        std::fs::write(roots.proc("7/stat"), stat("S")).unwrap();
        assert_eq!(start_time(&roots, 7), Some(4711));
        std::fs::write(roots.proc("7/stat"), stat("Z")).unwrap();
        assert_eq!(start_time(&roots, 7), None);
    }
}
