//! Words for what a run apart from the trials saw: waits for locks, and where CPU time went.

use super::{most_jobs, place};
use crate::phrase::{counted, listed, some_listed, when, words_of};
use crate::quantity::number;
use crate::said::Note;
use q2c_result::fs::{
    FsCell, FsLocks, FsProfile, FsResult, LockKind, LockLayer, LockSite, ProfiledBy, SeenLocks,
    SeenProfile,
};

/// The largest numbers of functions and of lock sites that a note names.
const FUNCTIONS: usize = 3;
const SITES: usize = 3;
/// The smallest share of the jobs' time at which a wait for a lock is named.
const LEAST: f64 = 0.005;

const NOT_SEEN: &str = "locks that were free, those that a writer got while it spun for a rwsem, and the cost of cache \
     lines that readers share";
const BY_CLOCK: &str = "by a clock of each CPU, as this machine has no counter of cycles; code that keeps interrupts off \
     is counted where they are let in again";

/// The locks that jobs waited for at the largest number of jobs, one note per point.
pub(super) fn locks(result: &FsResult) -> Vec<Note> {
    let most = most_jobs(result);
    let mut said: Vec<Note> = Vec::new();
    let mut quiet = 0;
    for cell in result.cells.iter().filter(|cell| cell.point.jobs == most) {
        let sentence = match &cell.locks {
            None => continue,
            Some(FsLocks::Seen(seen)) => waited(seen),
            Some(FsLocks::Unseen(error)) => Some(format!("not seen: failed to {error}")),
        };
        quiet += u32::from(sentence.is_none());
        let waits = sentence.map(|waits| format!("{}: {waits}", place(&cell.point)));
        said.extend(Note::plains("locks", waits));
    }
    if quiet > 0 {
        let other = when(!said.is_empty(), "other ");
        let points = counted(quiet, &format!("{other}point"));
        let message = format!("{points}, {most} jobs: no wait of 0.5 % of the jobs' time");
        said.push(Note::plain("locks", message));
    }
    if !said.is_empty() {
        said.push(Note::plain("not seen", NOT_SEEN));
    }
    said
}

/// The longest waits; `None` if no wait was long enough to name and none was lost.
fn waited(seen: &SeenLocks) -> Option<String> {
    let large = |site: &&LockSite| seen.share(site) >= LEAST;
    let label = |site: &LockSite| {
        let share = number(100.0 * seen.share(site));
        let (layer, lock) = (layer(site.layer), lock(site.kind));
        let name = &site.site;
        format!("{share} % of the jobs' time in {name} ({layer}, {lock})")
    };
    let waits = some_listed(seen.sites.iter().filter(large).take(SITES).map(label));
    let lost = match seen.lost {
        0 => return waits,
        1 => "; a wait was lost".to_owned(),
        n => format!("; {n} waits were lost"),
    };
    Some(waits.unwrap_or_else(|| "no wait of 0.5 % of the jobs' time".to_owned()) + &lost)
}

fn layer(layer: LockLayer) -> String {
    match layer {
        LockLayer::Block => "block layer".to_owned(),
        other => words_of(other),
    }
}

fn lock(lock: LockKind) -> &'static str {
    match lock {
        LockKind::Spinlock => "spin lock",
        LockKind::RwlockRead => "rwlock, read",
        LockKind::RwlockWrite => "rwlock, write",
        LockKind::Mutex => "mutex",
        LockKind::RwsemRead => "rwsem, read",
        LockKind::RwsemWrite => "rwsem, write",
        LockKind::PercpuRwsem => "percpu rwsem",
        LockKind::RtMutex => "rt mutex",
        LockKind::Sleeping => "sleeping lock",
    }
}

/// Where CPU time went at the largest number of jobs, one note per point.
pub(super) fn profiles(result: &FsResult) -> Vec<Note> {
    let most = most_jobs(result);
    let cells = result.cells.iter().filter(|cell| cell.point.jobs == most);
    let sentences = cells.filter_map(|cell| {
        let sentence = match cell.profile.as_ref()? {
            FsProfile::Seen(seen) => profiled(seen),
            FsProfile::Unseen(error) => format!("not seen: failed to {error}"),
        };
        Some(format!("{}: {sentence}", place(&cell.point)))
    });
    let mut said: Vec<Note> = Note::plains("CPU time", sentences).collect();
    let by_clock = |cell: &FsCell| match &cell.profile {
        Some(FsProfile::Seen(seen)) => seen.by == ProfiledBy::CpuClock,
        _ => false,
    };
    if result.cells.iter().any(by_clock) {
        said.push(Note::plain("sampled", BY_CLOCK));
    }
    said
}

fn profiled(seen: &SeenProfile) -> String {
    let total = seen.samples();
    let pct = |samples: u64| number(100.0 * samples as f64 / total.max(1) as f64);
    let functions = seen.functions.iter().take(FUNCTIONS).map(|function| {
        let (pct, layer) = (pct(function.samples), layer(function.layer));
        format!("{pct} % in {} ({layer})", function.function)
    });
    let (user, functions) = (pct(seen.user), listed(functions));
    format!("of {total} samples {user} % outside the kernel, {functions}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::result;
    use super::*;
    use q2c_result::fs::ProfiledFunction;

    #[test]
    fn functions_are_named_with_their_share_of_the_samples() {
        let mut result = result(3.9, 1.0, 0.26, 5);
        let function = |function: &str, samples| ProfiledFunction {
            function: function.to_owned(),
            layer: LockLayer::Ext4,
            samples,
        };
        result.cells[0].profile = Some(FsProfile::Seen(SeenProfile {
            by: ProfiledBy::Cycles,
            user: 50,
            functions: vec![function("down_read", 120), function("up_read", 30)],
            lost: 0,
        }));
        result.cells[1].profile = Some(FsProfile::Unseen("load a program".to_owned()));
        let said = profiles(&result);
        assert_eq!(said.len(), 2, "nothing is said of counters that are there");
        let shares = "of 200 samples 25.0 % outside the kernel, 60.0 % in down_read (ext4), 15.0 % in up_read (ext4)";
        assert!(said[0].words.ends_with(shares), "{said:?}");
        assert!(said[1].words.ends_with("failed to load a program"));
    }

    #[test]
    fn locks_are_named_with_their_share_of_the_time() {
        let seen = |sites: &[(&str, u64)], lost| {
            let site = |(site, ms): &(&str, u64)| LockSite {
                site: (*site).to_owned(),
                layer: LockLayer::Ext4,
                kind: LockKind::RwsemWrite,
                waits: 7,
                wait_ns: ms * 1_000_000,
            };
            Some(FsLocks::Seen(SeenLocks {
                thread_seconds: 4.0,
                sites: sites.iter().map(site).collect(),
                lost,
            }))
        };
        let mut result = result(3.9, 1.0, 0.26, 5);
        result.cells[1].locks = seen(&[("ext4_file_write_iter", 2_000), ("small", 19)], 2);
        let said = locks(&result);
        assert_eq!(said.len(), 2, "the point, and what is not seen");
        let wait = "50.0 % of the jobs' time in ext4_file_write_iter (ext4, rwsem, write); 2 waits were lost";
        assert!(said[0].words.ends_with(wait), "{said:?}");
        result.cells[0].locks = seen(&[("small", 19)], 0);
        assert!(locks(&result)[1].words.starts_with("1 other point, 4 jobs"));
    }
}
