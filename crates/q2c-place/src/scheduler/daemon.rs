//! The daemon: it looks at the tasks window by window, and gives them the CPUs that the rules ask
//! for. Every change is under the restore guard.

mod wishes;

use crate::map::SmtMap;
use crate::predictor::Class;
use crate::rules::Rules;
use crate::scheduler::hints::Hints;
use crate::scheduler::map;
use crate::scheduler::observe::{ActiveTask, TaskObserver};
use crate::scheduler::targets::targets;
use q2c_host::restore::{Guard, TaskId, UndoOutcome};
use q2c_host::tasks::{allowed, list, thread};
use q2c_host::{Roots, capabilities, machine};
use q2c_model::{CpuId, Exit, Fault};
use q2c_result::place_watch::{SeenBy, StayReason};
use q2c_sys::thread::allowed_cpus_of;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use wishes::Wishes;

/// Windows after which a task that is not active any more gets its own CPUs back.
const MAX_SILENT_WINDOWS: u32 = 20;

/// Something that the daemon did or saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonEvent {
    /// A sentence for the user.
    pub text: String,
    /// True if a task got other CPUs.
    pub moved: bool,
}

#[derive(Clone, Debug)]
struct MovedTask {
    own_cpus: Vec<CpuId>,
    given_cpus: Vec<CpuId>,
    name: String,
    silent_windows: u32,
}

/// Moves tasks, whose own CPUs are given back on drop. After [`PlacementDaemon::begin`] the caller
/// sleeps for each window before [`PlacementDaemon::window`], and calls [`PlacementDaemon::end`] at
/// last.
pub struct PlacementDaemon {
    roots: Roots,
    map: SmtMap,
    online: Vec<CpuId>,
    observer: TaskObserver,
    guard: Guard,
    moved_tasks: HashMap<TaskId, MovedTask>,
    wishes: Wishes,
    rules: Rules,
    events: Vec<DaemonEvent>,
    /// Own CPUs of tasks, some offline, to give back when they are online: until Linux 6.1 the
    /// kernel forgets offline CPUs.
    unrestored: HashMap<TaskId, Vec<CpuId>>,
    refused: HashSet<TaskId>,
}

impl PlacementDaemon {
    /// Begins to look at the tasks; none is moved before the second window. With `without_smt` the
    /// daemon also runs where no core has two logical CPUs.
    ///
    /// # Errors
    /// No CPUs, no SMT, another daemon moves tasks, or the restore guard cannot be used.
    pub fn begin(
        roots: &Roots,
        hints: Hints,
        journal: &Path,
        without_smt: bool,
    ) -> Result<PlacementDaemon, Fault> {
        let map = map::from_machine(roots);
        check_cores(&map, without_smt)?;
        let mut guard = Guard::new(roots, journal)?;
        guard.hold_tasks()?;
        Ok(PlacementDaemon {
            observer: TaskObserver::begin(roots, hints),
            online: machine::online(roots),
            roots: roots.clone(),
            map,
            guard,
            moved_tasks: HashMap::new(),
            wishes: Wishes::default(),
            rules: Rules::Proposed,
            events: Vec::new(),
            unrestored: HashMap::new(),
            refused: HashSet::new(),
        })
    }

    /// Moves tasks by these rules.
    pub fn with_rules(mut self, rules: Rules) -> PlacementDaemon {
        self.rules = rules;
        self
    }

    /// Moves tasks of this process as well, which are left alone otherwise.
    pub(crate) fn with_own_tasks(mut self) -> PlacementDaemon {
        self.observer.own_pid = 0;
        self
    }

    /// True if tasks of other users can be moved, too.
    pub fn moves_all_users(&self) -> bool {
        let status = fs::read_to_string(self.roots.proc("self/status")).unwrap_or_default();
        capabilities::has(&status, capabilities::SYS_NICE)
    }

    /// The observer, which says how polling is seen.
    pub fn observer(&self) -> &TaskObserver {
        &self.observer
    }

    /// The cores that tasks are placed on.
    pub fn map(&self) -> &SmtMap {
        &self.map
    }

    /// Number of tasks that have CPUs from the daemon now.
    pub fn moved_tasks(&self) -> usize {
        self.moved_tasks.len()
    }

    /// Ends a window: looks at the tasks, and gives CPUs. Returns what was done.
    ///
    /// # Errors
    /// The probe cannot be read, or the journal cannot be written.
    pub fn window(&mut self) -> Result<Vec<DaemonEvent>, Fault> {
        self.follow_hotplug()?;
        let mut active = self.observer.window()?;
        for task in &mut active {
            self.check_given_cpus(task)?;
        }
        for (task, cpus) in self.wishes.update(targets(&self.map, &active, self.rules)) {
            self.assign(task, &cpus, &active)?;
        }
        self.release_inactive(&active)?;
        Ok(std::mem::take(&mut self.events))
    }

    /// Gives all tasks their own CPUs back. Returns each task with the outcome.
    #[must_use]
    pub fn end(mut self) -> Vec<(PathBuf, UndoOutcome)> {
        self.guard.undo()
    }

    /// When CPUs come or go, tasks get their own CPUs back, and the daemon begins anew: the kernel
    /// itself gives other CPUs to a task whose last CPU goes offline.
    fn follow_hotplug(&mut self) -> Result<(), Fault> {
        let online = machine::online(&self.roots);
        if online == self.online {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.online, online);
        let (now, before) = (list(&self.online), list(&before));
        self.log(format!(
            "CPUs {now} are online, {before} were: all tasks get their own CPUs back"
        ));
        self.map = map::from_machine(&self.roots);
        self.wishes = Wishes::default();
        self.restore_again();
        let moved = self.moved_tasks.iter();
        let tasks: Vec<_> = moved.map(|(id, t)| (*id, t.own_cpus.clone())).collect();
        for (task, own_cpus) in tasks {
            if own_cpus.iter().any(|cpu| !self.online.contains(cpu)) {
                self.unrestored.insert(task, own_cpus);
            }
            self.release(task, "CPUs came or went")?;
        }
        Ok(())
    }

    fn restore_again(&mut self) {
        for (task, own_cpus) in &self.unrestored {
            let now = thread(&self.roots, task.pid, task.tid);
            if now.is_some_and(|now| now.start_time == task.start_time) {
                q2c_sys::thread::allow_other(task.tid, own_cpus).ok();
            }
        }
        let offline = |cpu: &CpuId| !self.online.contains(cpu);
        self.unrestored.retain(|_, cpus| cpus.iter().any(offline));
    }

    /// Makes a task movable, with its own CPUs as allowed, if it still has the CPUs that the daemon
    /// gave it. Leaves it alone if somebody else chose others since, or if it must stay now.
    fn check_given_cpus(&mut self, task: &mut ActiveTask) -> Result<(), Fault> {
        let id = task.id();
        if self.refused.contains(&id) {
            task.stays = Some(StayReason::Refused);
            return Ok(());
        }
        if task
            .stays
            .is_some_and(|reason| reason != StayReason::Pinned)
        {
            return self.release(id, "it has a real-time policy now, or stays by a hint");
        }
        if !self.moved_tasks.contains_key(&id) && task.stays == Some(StayReason::Pinned) {
            self.adopt(id, task)?;
        }
        let Some(moved) = self.moved_tasks.get(&id) else {
            return Ok(());
        };
        // The kernel shows no CPUs that are offline, whoever chose them.
        let online = |cpu: &&CpuId| self.online.contains(cpu);
        let allowed_now = task.allowed.iter().filter(online);
        if !moved.given_cpus.iter().filter(online).eq(allowed_now) {
            // A CPU that is going offline leaves the task's mask first, while procfs still shows
            // it. The next window gives all CPUs back.
            if allowed(&self.roots, id.pid, id.tid).as_ref() == Some(&moved.given_cpus)
                || machine::online(&self.roots) != self.online
            {
                task.stays = Some(StayReason::Pinned);
                return Ok(());
            }
            let (name, tid, cpus) = (&task.thread.comm, id.tid, list(&task.allowed));
            self.log(format!(
                "{name} ({tid}): left alone: somebody else gave it CPUs {cpus}"
            ));
            self.moved_tasks.remove(&id);
            return Ok(self.guard.forget(id)?);
        }
        task.allowed.clone_from(&moved.own_cpus);
        task.stays = None;
        Ok(())
    }

    /// Takes over a new task that a moved task started, and that inherited the given CPUs.
    fn adopt(&mut self, id: TaskId, task: &ActiveTask) -> Result<(), Fault> {
        let makers = [task.thread.pid, task.thread.parent];
        let made_by = |(maker, moved): &(&TaskId, &MovedTask)| {
            makers.contains(&maker.pid) && moved.given_cpus == task.allowed
        };
        let Some((_, maker)) = self.moved_tasks.iter().find(made_by) else {
            return Ok(());
        };
        let moved = MovedTask {
            name: task.thread.comm.clone(),
            silent_windows: 0,
            ..maker.clone()
        };
        if self.guard.allow(id, &moved.own_cpus, &moved.given_cpus)? {
            self.moved_tasks.insert(id, moved);
        }
        Ok(())
    }

    fn assign(&mut self, id: TaskId, cpus: &[CpuId], active: &[ActiveTask]) -> Result<(), Fault> {
        let Some(task) = active.iter().find(|task| task.id() == id) else {
            return Ok(());
        };
        let usual_cpus = task.allowed.clone();
        if usual_cpus == cpus {
            return self.release(id, "there is room on all of them");
        }
        let moved = self.moved_tasks.get(&id);
        let before = moved.map_or(&usual_cpus, |moved| &moved.given_cpus).clone();
        if before == cpus {
            return Ok(());
        }
        // The CPUs that it gets back include those that are offline now.
        let own_cpus = match moved {
            Some(moved) => moved.own_cpus.clone(),
            None => allowed(&self.roots, id.pid, id.tid).unwrap_or(usual_cpus),
        };
        match self.guard.allow(id, &own_cpus, cpus) {
            Ok(true) => {}
            Ok(false) => {
                self.moved_tasks.remove(&id);
                return Ok(());
            }
            Err(refused) => {
                let (name, tid) = (&task.thread.comm, id.tid);
                self.log(format!("{name} ({tid}): not moved: failed to {refused}"));
                self.refused.insert(id);
                self.wishes.forget(id);
                if self.moved_tasks.contains_key(&id) {
                    return self.release(id, "the kernel refused to give it other CPUs");
                }
                return Ok(self.guard.forget(id)?);
            }
        }
        // A control group may have taken CPUs away since they were read.
        let given_cpus = allowed_cpus_of(id.tid).unwrap_or_else(|_| cpus.to_vec());
        let (name, reason) = (task.thread.comm.clone(), move_reason(task));
        let (before, to) = (list(&before), list(&given_cpus));
        let text = format!("{name} ({}): CPUs {before} -> {to}: {reason}", id.tid);
        self.events.push(DaemonEvent { text, moved: true });
        let moved = MovedTask {
            own_cpus,
            given_cpus,
            name,
            silent_windows: 0,
        };
        self.moved_tasks.insert(id, moved);
        Ok(())
    }

    /// Releases tasks that were long inactive, and all tasks if none polls or none computes.
    fn release_inactive(&mut self, active: &[ActiveTask]) -> Result<(), Fault> {
        let mut releases = Vec::new();
        for (id, moved) in &mut self.moved_tasks {
            let seen = active.iter().any(|task| task.id() == *id);
            moved.silent_windows = if seen { 0 } else { moved.silent_windows + 1 };
            if moved.silent_windows >= MAX_SILENT_WINDOWS {
                releases.push((*id, "it was not active for long"));
            } else if self.wishes.is_unwanted(*id) {
                releases.push((*id, "no task polls any more, or none computes"));
            }
        }
        let mut releases = releases.into_iter();
        releases.try_for_each(|(id, reason)| self.release(id, reason))
    }

    /// Gives a task its own CPUs back, and logs why.
    fn release(&mut self, id: TaskId, reason: &str) -> Result<(), Fault> {
        let Some(moved) = self.moved_tasks.remove(&id) else {
            return Ok(());
        };
        self.wishes.forget(id);
        let outcome = self.guard.give_back(id)?.unwrap_or(UndoOutcome::AlreadyOld);
        let (name, tid, cpus) = (&moved.name, id.tid, list(&moved.own_cpus));
        let text = format!("{name} ({tid}): CPUs {cpus} again: {reason}; {outcome}");
        self.log(text);
        Ok(())
    }

    fn log(&mut self, text: String) {
        self.events.push(DaemonEvent { text, moved: false });
    }
}

fn check_cores(map: &SmtMap, without_smt: bool) -> Result<(), Fault> {
    let text = match (map.cpus(), map.cores()) {
        (0, _) => "place tasks: expected CPUs that are online and not isolated in /sys/devices/system/cpu, found none".to_owned(),
        (cpus, cores) if cpus <= cores && !without_smt => format!(
            "place tasks: expected cores with two logical CPUs or more, found {cpus} CPUs that tasks may use on {cores} cores; \
             without SMT (or with it switched off) polling and computing tasks share no pipeline, and the kernel's own balancing is enough; --without-smt places them all the same"
        ),
        _ => return Ok(()),
    };
    Err(Fault::new(Exit::Environment, text))
}

fn move_reason(task: &ActiveTask) -> &'static str {
    match (task.class, task.seen_by) {
        (Class::Compute, _) => "it computes, and gets the CPUs that have room beside polling tasks",
        (Class::Polling, SeenBy::Hint) => "it polls, by a hint",
        (Class::Polling, SeenBy::SubmissionThread) => "it polls a submission queue of io_uring",
        (Class::Polling, SeenBy::Name) => "it polls, by its name",
        (Class::Polling, SeenBy::Kernel | SeenBy::Nothing) => {
            "it polls: it called the kernel's poll functions"
        }
    }
}
