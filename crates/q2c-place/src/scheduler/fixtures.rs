//! Tasks made for tests.

use crate::predictor::Class;
use crate::scheduler::observe::ActiveTask;
use q2c_host::tasks::{Scheduling, Thread};
use q2c_model::CpuId;
use q2c_result::place_watch::{SeenBy, StayReason};

/// Active tasks from text: `PPC|C` is a core whose CPUs have two P and one C, and one C. They may
/// run anywhere; ids count from 100. Tasks at the indices in `pinned` must stay.
pub(crate) fn active(cores: &[&str], pinned: &[usize]) -> Vec<ActiveTask> {
    let queues: Vec<&str> = cores.iter().flat_map(|core| core.split('|')).collect();
    let every_cpu: Vec<CpuId> = (0..queues.len() as u32).map(CpuId).collect();
    let mut tasks = Vec::new();
    for (cpu, queue) in queues.iter().enumerate() {
        for kind in queue.chars() {
            let (class, seen_by) = match kind {
                'P' => (Class::Polling, SeenBy::Kernel),
                _ => (Class::Compute, SeenBy::Nothing),
            };
            let id = 100 + tasks.len() as u32;
            tasks.push(ActiveTask {
                thread: Thread {
                    tid: id,
                    pid: id,
                    parent: 1,
                    comm: format!("task {kind}"),
                    runnable: true,
                    bound: false,
                    kernel: false,
                    ticks: 0,
                    start_time: u64::from(id),
                    cpu: CpuId(cpu as u32),
                    scheduling: Scheduling::Ordinary,
                },
                share: 1.0,
                class,
                seen_by,
                allowed: every_cpu.clone(),
                stays: pinned.contains(&tasks.len()).then_some(StayReason::Pinned),
            });
        }
    }
    tasks
}
