//! Hysteresis: a wish for the CPUs of a task is met once it has stayed the same for some windows.

use q2c_host::restore::TaskId;
use q2c_model::CpuId;
use std::collections::HashMap;

/// Windows in a row with the same wish for a task before it is met.
const STEADY_WINDOWS: u32 = 2;
/// Windows in a row without a wish for a task before it gets its own CPUs back.
const MAX_MISSING_WINDOWS: u32 = 4;

pub(super) type CpusByTask = Vec<(TaskId, Vec<CpuId>)>;

#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    tasks: HashMap<TaskId, PlacementWish>,
}

#[derive(Clone, Debug, Default)]
struct PlacementWish {
    cpus: Vec<CpuId>,
    steady_windows: u32,
    missing_windows: u32,
}

impl Wishes {
    /// Takes the wishes of a window. Returns those that are to be met.
    pub(crate) fn update(&mut self, mut wanted: CpusByTask) -> CpusByTask {
        self.tasks.values_mut().for_each(|w| w.missing_windows += 1);
        wanted.retain(|(task, cpus)| {
            let wish = self.tasks.entry(*task).or_default();
            if wish.cpus != *cpus {
                wish.cpus.clone_from(cpus);
                wish.steady_windows = 0;
            }
            wish.steady_windows += 1;
            wish.missing_windows = 0;
            wish.steady_windows >= STEADY_WINDOWS
        });
        self.tasks
            .retain(|_, wish| wish.missing_windows <= MAX_MISSING_WINDOWS);
        wanted
    }

    /// True if the task had no wish for [`MAX_MISSING_WINDOWS`] windows, and no task has one now. A
    /// sleeping task has none either, so a wish of any other task means that this one is kept.
    pub(crate) fn is_unwanted(&self, task: TaskId) -> bool {
        let none_now = self.tasks.values().all(|wish| wish.missing_windows > 0);
        let missing = self
            .tasks
            .get(&task)
            .map_or(MAX_MISSING_WINDOWS, |w| w.missing_windows);
        none_now && missing >= MAX_MISSING_WINDOWS
    }

    pub(crate) fn forget(&mut self, task: TaskId) {
        self.tasks.remove(&task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: TaskId = TaskId {
        pid: 7,
        tid: 7,
        start_time: 1,
    };

    fn wish(cpu: u32) -> CpusByTask {
        vec![(TASK, vec![CpuId(cpu)])]
    }

    #[test]
    fn a_wish_counts_when_it_comes_twice_in_a_row() {
        let mut wishes = Wishes::default();
        assert_eq!(wishes.update(wish(1)), []);
        assert_eq!(wishes.update(wish(2)), []);
        assert_eq!(wishes.update(wish(2)), wish(2));
        assert_eq!(wishes.update(wish(2)), wish(2));
        assert_eq!(wishes.update(wish(1)), []);
        wishes.forget(TASK);
        assert_eq!(wishes.update(wish(1)), []);
    }

    #[test]
    fn a_task_is_unwanted_after_windows_without_any_wish() {
        let mut wishes = Wishes::default();
        wishes.update(wish(1));
        for _ in 1..MAX_MISSING_WINDOWS {
            wishes.update(Vec::new());
            assert!(!wishes.is_unwanted(TASK));
        }
        wishes.update(Vec::new());
        assert!(wishes.is_unwanted(TASK));
        let other = TaskId { tid: 8, ..TASK };
        wishes.update(vec![(other, vec![CpuId(0)])]);
        assert!(!wishes.is_unwanted(TASK), "others are kept apart");
    }
}
