//! The active tasks of each core, what their placement costs, and which moves would be better.

use crate::map::SmtMap;
use crate::predictor::Class;
use crate::rules::Rules;
use crate::scheduler::observe::{ActiveTask, TaskObserver};
use crate::scheduler::plan::{ActiveTaskMap, PlannedMove};
use crate::speed;
use crate::study::speeds_warning;
use q2c_host::Roots;
use q2c_result::Warning;
use q2c_result::place::{Speeds, SpeedsFrom};
use q2c_result::place_watch::{
    AdvisedMove, Detector, PlaceWatchResult, SCHEMA, WatchedCore, WatchedCpu, WatchedTask,
};

/// The facts that stay the same from one window to the next.
#[derive(Clone, Debug)]
pub struct PlaceWatchBasis {
    /// The machine.
    pub map: SmtMap,
    /// Speeds beside neighbours.
    pub speeds: Speeds,
    /// The source of these speeds.
    pub speeds_from: SpeedsFrom,
    /// How polling is seen.
    pub detector: Detector,
}

/// How an observer sees polling.
pub fn detector(observer: &TaskObserver) -> Detector {
    let functions = observer.functions().iter();
    let functions = functions.map(|name| (*name).to_owned()).collect();
    let missing = observer.missing_probe().map(ToString::to_string);
    Detector { functions, missing }
}

impl PlaceWatchBasis {
    /// The result of a window in which these tasks were active.
    pub fn result(&self, tasks: &[ActiveTask], at_unix_s: u64, window_s: f64) -> PlaceWatchResult {
        let mut places = ActiveTaskMap::from_tasks(&self.map, tasks);
        let core = |core| self.core(core, &places, tasks);
        let cores = (0..self.map.cores()).map(core).collect();
        let c_slowdown = speed::c_slowdown(&self.speeds, &places.tally);
        // Without SMT the kernel's own balancing is enough, as q2c place start says.
        let has_smt = self.map.cpus() > self.map.cores();
        let planned = has_smt.then(|| places.settle(Rules::Proposed));
        let planned = planned.unwrap_or_default();
        let advised = |planned| self.advised_move(planned, tasks);
        PlaceWatchResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at_unix_s,
            window_s,
            detector: self.detector.clone(),
            speeds: self.speeds,
            speeds_from: self.speeds_from.clone(),
            cores,
            c_slowdown,
            c_slowdown_after: speed::c_slowdown(&self.speeds, &places.tally),
            moves: planned.iter().map(advised).collect(),
            warnings: self.warnings(),
        }
    }

    fn core(&self, core: usize, places: &ActiveTaskMap<'_>, tasks: &[ActiveTask]) -> WatchedCore {
        let cpu = |&cpu: &usize| {
            let counts = places.tally.cpus[cpu];
            let running = speed::while_running(&self.speeds, &places.tally, cpu, Class::Compute);
            let queue = places.tasks_on[cpu].iter();
            WatchedCpu {
                cpu: self.map.id(cpu),
                tasks: queue.map(|task| watched_task(&tasks[*task])).collect(),
                c_slowdown: (counts.compute > 0).then(|| f64::from(counts.load()) / running),
            }
        };
        let cpus = self.map.cpus_of(core).iter().map(cpu).collect();
        WatchedCore { cpus }
    }

    fn advised_move(&self, planned: &PlannedMove, tasks: &[ActiveTask]) -> AdvisedMove {
        let ActiveTask { thread, class, .. } = &tasks[planned.task];
        AdvisedMove {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.comm.clone(),
            polls: *class == Class::Polling,
            from: self.map.id(planned.from),
            to: self.map.id(planned.to),
            why: planned.reason,
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(reason) = &self.detector.missing {
            warnings.push(Warning::new(
                "polling-not-seen",
                format!("the kernel's poll functions are not watched: failed to {reason}"),
                "only tasks with known names or hints count as polling",
                "name pollers with --hints; watching takes root and a kernel with type information (BTF) whose functions can be traced (CONFIG_FUNCTION_TRACER, CONFIG_KPROBES)",
            ));
        }
        if self.map.cpus() == self.map.cores() {
            warnings.push(Warning::new(
                "no-smt",
                "no core has more than one logical CPU in use".to_owned(),
                "tasks share no pipeline here, only the time of a CPU; no moves are advised",
                "",
            ));
        }
        warnings.extend(speeds_warning(&self.speeds_from, "costs are estimates"));
        warnings
    }
}

fn watched_task(task: &ActiveTask) -> WatchedTask {
    WatchedTask {
        pid: task.thread.pid,
        tid: task.thread.tid,
        name: task.thread.comm.clone(),
        polls: task.class == Class::Polling,
        by: task.seen_by,
        cpu_pct: 100.0 * task.share,
        stays: task.stays,
    }
}

/// The map of this machine.
///
/// # Errors
/// sysfs shows no CPU that is online; the text says where.
pub fn machine_map(roots: &Roots) -> Result<SmtMap, String> {
    let map = crate::scheduler::map::from_machine(roots);
    if map.cpus() > 0 {
        return Ok(map);
    }
    Err(format!(
        "read the topology from {}: expected CPUs that are online, found none",
        roots.sys("devices/system/cpu").display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::fixtures::active;

    fn view(map: SmtMap, speeds: Speeds, speeds_from: SpeedsFrom) -> PlaceWatchBasis {
        PlaceWatchBasis {
            map,
            speeds,
            speeds_from,
            detector: Detector {
                functions: vec!["blk_mq_poll".into()],
                missing: None,
            },
        }
    }

    #[test]
    fn without_smt_no_move_is_advised() {
        let map = SmtMap::regular(4, 1, 1);
        let view = view(map, speed::published(), SpeedsFrom::Published);
        let look = view.result(&active(&["PPCC", "", "", ""], &[]), 0, 0.5);
        assert_eq!(look.moves, Vec::new());
        assert_eq!(look.c_slowdown, look.c_slowdown_after);
        assert!(look.warnings.iter().any(|warning| warning.id == "no-smt"));
    }

    #[test]
    fn a_look_names_costs_and_moves() {
        let speeds = Speeds {
            compute_beside_compute: 0.5,
            compute_beside_polling: 0.8,
            polling_beside_compute: 1.0,
            polling_beside_polling: 1.0,
        };
        let from = SpeedsFrom::File("s".into());
        let view = view(SmtMap::regular(2, 2, 1), speeds, from);
        let look = view.result(&active(&["P|P", "C|C"], &[]), 7, 0.5);
        assert_eq!(look.c_slowdown, Some(2.0));
        assert_eq!(look.c_slowdown_after, Some(1.25));
        assert_eq!(look.cores[0].cpus[0].c_slowdown, None);
        assert_eq!(look.cores[1].cpus[0].c_slowdown, Some(2.0));
        assert_eq!(look.moves.len(), 2);
        assert!(look.moves[0].polls && !look.moves[1].polls);
        assert_eq!(look.warnings, []);
        let idle = view.result(&[], 7, 0.5);
        assert_eq!((idle.c_slowdown, idle.moves), (None, vec![]));
    }
}
