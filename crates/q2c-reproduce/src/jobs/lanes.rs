//! The threads of a trial. If only a job's method changes from one phase to the next, its threads
//! and rings continue. Otherwise other threads take over, which have waited since the start of the
//! run with their rings open.

use super::resources::PreparedJob;
use q2c_engine::{Activity, JobPlan};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Wait;

/// A job over the phases of a trial.
#[derive(Clone, Debug)]
pub(crate) struct TrialJob {
    pub name: String,
    /// The prepared job of each phase; `None` if it rests.
    pub phases: Vec<Option<PreparedJob>>,
}

pub(crate) struct JobWorker {
    pub job: usize,
    ready: PreparedJob,
    pub cpu: CpuId,
    /// For each phase, true if the thread does I/O in it.
    pub works: Vec<bool>,
}

pub(crate) fn workers(jobs: &[TrialJob]) -> Vec<JobWorker> {
    let mut workers: Vec<JobWorker> = Vec::new();
    for (job, phased_job) in jobs.iter().enumerate() {
        let placed = phased_job.phases.iter().enumerate();
        for (phase, placed) in placed.filter_map(|(n, placed)| Some((n, placed.as_ref()?))) {
            for &cpu in &placed.cpus {
                let free = workers.iter_mut().find(|worker| {
                    let same = worker.job == job && worker.cpu == cpu && !worker.works[phase];
                    same && worker.ready.can_share_ring(placed)
                });
                if let Some(worker) = free {
                    worker.works[phase] = true;
                    continue;
                }
                workers.push(JobWorker {
                    job,
                    ready: placed.clone(),
                    cpu,
                    works: (0..phased_job.phases.len()).map(|n| n == phase).collect(),
                });
            }
        }
    }
    workers
}

pub(crate) fn activities(workers: &[JobWorker], jobs: &[TrialJob], phase: usize) -> Vec<Activity> {
    let mut activities: Vec<Activity> = workers.iter().map(|_| Activity::Idle).collect();
    for (job, phased_job) in jobs.iter().enumerate() {
        let Some(placed) = &phased_job.phases[phase] else {
            continue;
        };
        let before = phase.checked_sub(1);
        let before = before.and_then(|before| phased_job.phases[before].as_ref());
        let waits_as_before = before.is_some_and(|before| before.waits == placed.waits);
        let mine = |worker: &JobWorker| worker.job == job && worker.works[phase];
        let goes_on = |worker: &JobWorker| waits_as_before && worker.works[phase - 1];
        let begins = |n: &usize| mine(&workers[*n]) && !goes_on(&workers[*n]);
        let begin: Vec<usize> = (0..workers.len()).filter(begins).collect();
        let cpus: Vec<CpuId> = begin.iter().map(|&n| workers[n].cpu).collect();
        // Threads that start together share the state of their rule, like threads of one device.
        let waits: Vec<Wait> = placed.waits.build_on(&cpus);
        for (n, worker) in workers.iter().enumerate() {
            if mine(worker) {
                activities[n] = Activity::Continue;
            }
        }
        for (n, wait) in begin.into_iter().zip(waits) {
            activities[n] = Activity::Start(wait);
        }
    }
    activities
}

pub(crate) fn plans(
    workers: &[JobWorker],
    jobs: &[TrialJob],
    capacity: impl Fn(CpuId) -> usize,
    seed: u64,
) -> Vec<JobPlan> {
    let first = activities(workers, jobs, 0);
    let plan = |((n, worker), activity): ((usize, &JobWorker), Activity)| JobPlan {
        name: format!("{} thread {n}", jobs[worker.job].name),
        engine: worker.ready.engine.clone(),
        medium: worker.ready.medium.clone(),
        pattern: worker.ready.settings.pattern,
        bs: worker.ready.settings.bs,
        base: Bytes(0),
        span: worker.ready.span,
        depth: worker.ready.settings.depth,
        cpu: worker.cpu,
        seed: seed.wrapping_add(n as u64 * 7919),
        activities: vec![activity],
        capacity: capacity(worker.cpu),
        tally: false,
        rate: None,
        think: None,
        stop_on_fault: true,
    };
    workers.iter().enumerate().zip(first).map(plan).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::file::JobSettings;
    use q2c_engine::{EngineSpec, Medium, Pattern};
    use q2c_policy::LaneMethod;

    pub(crate) fn job_on(method: &str, depth: u16, cpus: &[u32]) -> Option<PreparedJob> {
        let method: q2c_policy::Method = method.parse().unwrap();
        Some(PreparedJob {
            cpus: cpus.iter().copied().map(CpuId).collect(),
            engine: EngineSpec::Null,
            medium: Medium::None,
            span: Bytes(1 << 20),
            waits: method.lane().cloned().unwrap_or(LaneMethod::Poll),
            kernel: None,
            settings: JobSettings {
                device: "target".to_owned(),
                engine: None,
                methods: vec![method],
                pattern: Pattern::RANDREAD,
                bs: Bytes(4096),
                depth,
                threads: 1,
                cpus: 1,
            },
        })
    }

    pub(crate) fn trial_job(name: &str, phases: Vec<Option<PreparedJob>>) -> TrialJob {
        let name = name.to_owned();
        TrialJob { name, phases }
    }

    /// The activities of all threads in a phase by first letter: idle, start, continue, resume.
    fn letters(jobs: &[TrialJob], phase: usize) -> String {
        let letter = |activity: Activity| match activity {
            Activity::Idle => 'i',
            Activity::Start(_) => 's',
            Activity::Continue => 'c',
            Activity::Resume => 'r',
        };
        activities(&workers(jobs), jobs, phase)
            .into_iter()
            .map(letter)
            .collect()
    }

    #[test]
    fn a_change_of_method_keeps_the_thread_and_a_change_of_depth_takes_another() {
        let phases = vec![
            job_on("interrupt", 1, &[0]),
            job_on("poll", 1, &[0]),
            job_on("poll", 1, &[0]),
            job_on("poll", 4, &[0]),
            job_on("poll", 1, &[0]),
        ];
        let jobs = [trial_job("job", phases)];
        assert_eq!(workers(&jobs).len(), 2);
        let phase_letters: Vec<String> = (0..5).map(|phase| letters(&jobs, phase)).collect();
        assert_eq!(phase_letters, ["si", "si", "ci", "is", "si"]);
    }

    #[test]
    fn a_background_comes_grows_and_goes_while_the_foreground_goes_on() {
        let foreground = vec![job_on("poll", 1, &[0]); 4];
        let background = vec![
            None,
            job_on("interrupt", 1, &[1]),
            job_on("interrupt", 1, &[1, 2]),
            None,
        ];
        let jobs = [
            trial_job("foreground", foreground),
            trial_job("background", background),
        ];
        let phase_letters: Vec<String> = (0..4).map(|phase| letters(&jobs, phase)).collect();
        assert_eq!(phase_letters, ["sii", "csi", "ccs", "cii"]);
    }
}
