//! The threads of a trial. If only a job's method changes from one phase to the next, its threads
//! and rings continue. Otherwise other threads take over, which have waited since the start of the
//! run with their rings open.

use super::ground::PreparedJob;
use q2c_engine::{Activity, JobPlan};
use q2c_model::{Bytes, CpuId};
use q2c_policy::Wait;

/// A job over the phases of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub name: String,
    /// The prepared job of each phase; `None` if it rests.
    pub phases: Vec<Option<PreparedJob>>,
}

pub(crate) struct Strand {
    pub job: usize,
    ready: PreparedJob,
    pub cpu: CpuId,
    /// For each phase, true if the thread does I/O in it.
    pub works: Vec<bool>,
}

pub(crate) fn strands(courses: &[Course]) -> Vec<Strand> {
    let mut strands: Vec<Strand> = Vec::new();
    for (job, course) in courses.iter().enumerate() {
        let placed = course.phases.iter().enumerate();
        for (phase, placed) in placed.filter_map(|(n, placed)| Some((n, placed.as_ref()?))) {
            for &cpu in &placed.cpus {
                let free = strands.iter_mut().find(|strand| {
                    let same = strand.job == job && strand.cpu == cpu && !strand.works[phase];
                    same && strand.ready.same_ring(placed)
                });
                if let Some(strand) = free {
                    strand.works[phase] = true;
                    continue;
                }
                strands.push(Strand {
                    job,
                    ready: placed.clone(),
                    cpu,
                    works: (0..course.phases.len()).map(|n| n == phase).collect(),
                });
            }
        }
    }
    strands
}

pub(crate) fn activities(strands: &[Strand], courses: &[Course], phase: usize) -> Vec<Activity> {
    let mut activities: Vec<Activity> = strands.iter().map(|_| Activity::Idle).collect();
    for (job, course) in courses.iter().enumerate() {
        let Some(placed) = &course.phases[phase] else {
            continue;
        };
        let before = phase.checked_sub(1);
        let before = before.and_then(|before| course.phases[before].as_ref());
        let waits_as_before = before.is_some_and(|before| before.waits == placed.waits);
        let mine = |strand: &Strand| strand.job == job && strand.works[phase];
        let goes_on = |strand: &Strand| waits_as_before && strand.works[phase - 1];
        let begins = |n: &usize| mine(&strands[*n]) && !goes_on(&strands[*n]);
        let begin: Vec<usize> = (0..strands.len()).filter(begins).collect();
        let cpus: Vec<CpuId> = begin.iter().map(|&n| strands[n].cpu).collect();
        // Threads that start together share the state of their rule, like threads of one device.
        let waits: Vec<Wait> = placed.waits.build_on(&cpus);
        for (n, strand) in strands.iter().enumerate() {
            if mine(strand) {
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
    strands: &[Strand],
    courses: &[Course],
    capacity: impl Fn(CpuId) -> usize,
    seed: u64,
) -> Vec<JobPlan> {
    let first = activities(strands, courses, 0);
    let plan = |((n, strand), activity): ((usize, &Strand), Activity)| JobPlan {
        name: format!("{} thread {n}", courses[strand.job].name),
        engine: strand.ready.engine.clone(),
        medium: strand.ready.medium.clone(),
        pattern: strand.ready.settings.pattern,
        bs: strand.ready.settings.bs,
        base: Bytes(0),
        span: strand.ready.span,
        depth: strand.ready.settings.depth,
        cpu: strand.cpu,
        seed: seed.wrapping_add(n as u64 * 7919),
        activities: vec![activity],
        capacity: capacity(strand.cpu),
        tally: false,
        rate: None,
        think: None,
        stop_on_fault: true,
    };
    strands.iter().enumerate().zip(first).map(plan).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::file::JobSettings;
    use q2c_engine::{EngineSpec, Medium, Pattern};
    use q2c_policy::LaneMethod;

    pub(crate) fn placed(method: &str, depth: u16, cpus: &[u32]) -> Option<PreparedJob> {
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
                pattern: Pattern {
                    random: true,
                    write: false,
                },
                bs: Bytes(4096),
                depth,
                threads: 1,
                cpus: 1,
            },
        })
    }

    pub(crate) fn course(name: &str, phases: Vec<Option<PreparedJob>>) -> Course {
        let name = name.to_owned();
        Course { name, phases }
    }

    /// The activities of all threads in a phase by first letter: idle, start, continue, resume.
    fn letters(courses: &[Course], phase: usize) -> String {
        let letter = |activity: Activity| match activity {
            Activity::Idle => 'i',
            Activity::Start(_) => 's',
            Activity::Continue => 'c',
            Activity::Resume => 'r',
        };
        activities(&strands(courses), courses, phase)
            .into_iter()
            .map(letter)
            .collect()
    }

    #[test]
    fn a_change_of_method_keeps_the_thread_and_a_change_of_depth_takes_another() {
        let phases = vec![
            placed("interrupt", 1, &[0]),
            placed("poll", 1, &[0]),
            placed("poll", 1, &[0]),
            placed("poll", 4, &[0]),
            placed("poll", 1, &[0]),
        ];
        let courses = [course("job", phases)];
        assert_eq!(strands(&courses).len(), 2);
        let phase_letters: Vec<String> = (0..5).map(|phase| letters(&courses, phase)).collect();
        assert_eq!(phase_letters, ["si", "si", "ci", "is", "si"]);
    }

    #[test]
    fn a_background_comes_grows_and_goes_while_the_foreground_goes_on() {
        let foreground = vec![placed("poll", 1, &[0]); 4];
        let background = vec![
            None,
            placed("interrupt", 1, &[1]),
            placed("interrupt", 1, &[1, 2]),
            None,
        ];
        let courses = [
            course("foreground", foreground),
            course("background", background),
        ];
        let phase_letters: Vec<String> = (0..4).map(|phase| letters(&courses, phase)).collect();
        assert_eq!(phase_letters, ["sii", "csi", "ccs", "cii"]);
    }
}
