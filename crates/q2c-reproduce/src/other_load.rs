//! Warnings of other load: CPUs that were busy before the run, or during it beside its jobs.

use q2c_host::cpu_time::{QUIET_CPUS, STOP_OTHERS, busy_before};
use q2c_result::Warning;
use q2c_result::reproduce::{JobSeries, PhaseAsRun, PhaseTrial, Point, PointTrial};
use q2c_workbench::busy::CounterSpan;

pub(crate) struct LoadEvidence<'a> {
    pub points: &'a [Point],
    pub phases: &'a [PhaseAsRun],
    pub captured: bool,
    /// Number of CPUs that were busy before the run.
    pub idle_busy_cpus: f64,
}

const AT_REST_MEANS: &str = "KIOPS per core takes that load off as if it stayed the same; latencies \
                             are disturbed";

pub(crate) fn warnings(load: &LoadEvidence<'_>) -> Vec<Warning> {
    let before = busy_before(load.idle_busy_cpus, "measured", AT_REST_MEANS);
    before.into_iter().chain(others_ran_warning(load)).collect()
}

struct DisturbedPhase<'a> {
    cpus: f64,
    point: &'a Point,
    trial: u32,
    phase: usize,
}

fn others_ran_warning(load: &LoadEvidence<'_>) -> Option<Warning> {
    let disturbed = disturbed_phases(load);
    let most = disturbed.iter().max_by(|a, b| a.cpus.total_cmp(&b.cpus))?;
    let plural = if disturbed.len() == 1 { "" } else { "s" };
    let who = if load.captured {
        "other programs, q2c's capture, or the kernel's own threads"
    } else {
        "other programs, or the kernel's own threads"
    };
    Some(Warning::new(
        "others-ran",
        format!(
            "in {} phase{plural} more CPUs were busy than at rest and for the jobs' threads, at most {:.2} ({})",
            disturbed.len(),
            most.cpus,
            place_text(most, load)
        ),
        &format!("{who} took CPU beside the jobs; latencies and sleeps are disturbed"),
        STOP_OTHERS,
    ))
}

/// The phases of all trials in which other programs used more CPU than on a quiet machine.
fn disturbed_phases<'a>(load: &LoadEvidence<'a>) -> Vec<DisturbedPhase<'a>> {
    let mut disturbed = Vec::new();
    for point in load.points {
        for PointTrial { trial, phases, .. } in &point.trials {
            for (nth, phase) in phases.iter().enumerate() {
                let cpus = other_cpus(phase, load.idle_busy_cpus).unwrap_or_default();
                let (wall_s, stretches) = (phase.seconds, 1);
                let rounding = CounterSpan { wall_s, stretches }.rounding();
                if cpus > QUIET_CPUS + rounding {
                    let (trial, phase) = (*trial, nth);
                    disturbed.push(DisturbedPhase {
                        cpus,
                        point,
                        trial,
                        phase,
                    });
                }
            }
        }
    }
    disturbed
}

fn place_text(disturbed: &DisturbedPhase<'_>, load: &LoadEvidence<'_>) -> String {
    let at = disturbed.point.at.iter();
    let mut parts: Vec<String> = at.map(|(axis, value)| format!("{axis}={value}")).collect();
    let label = load.phases.get(disturbed.phase).map(|phase| &phase.label);
    parts.extend(label.map(|label| format!("phase {label}")));
    parts.push(format!("trial {}", disturbed.trial + 1));
    parts.join(", ")
}

/// CPUs busy with other work beyond the load at rest; `None` without counters.
fn other_cpus(phase: &PhaseTrial, idle_busy_cpus: f64) -> Option<f64> {
    let used_by_jobs: f64 = phase.jobs.iter().map(job_cpus).sum();
    Some(phase.busy_cpus? - idle_busy_cpus - used_by_jobs)
}

/// CPUs that a job's threads used, from the mean over threads in each interval.
fn job_cpus(job: &JobSeries) -> f64 {
    let (mut seconds, mut busy) = (0.0, 0.0);
    for tick in &job.ticks {
        seconds += tick.seconds;
        busy += tick.rates.cpu_pct / 100.0 * tick.seconds;
    }
    if seconds > 0.0 {
        busy / seconds * f64::from(job.lanes)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;
    use q2c_result::reproduce::Tick;

    /// Two jobs: two threads at 40 %, and one at 10 % in one second and 30 % in another.
    fn phase(busy_cpus: Option<f64>) -> PhaseTrial {
        let job = |lanes: u32, cpu_pct: [f64; 2]| JobSeries {
            lanes,
            ticks: cpu_pct
                .map(|cpu_pct| Tick {
                    seconds: 1.0,
                    rates: Rates {
                        cpu_pct,
                        ..Rates::default()
                    },
                    ..Tick::default()
                })
                .to_vec(),
            ..JobSeries::default()
        };
        PhaseTrial {
            seconds: 2.0,
            busy_cpus,
            jobs: vec![job(2, [40.0, 40.0]), job(1, [10.0, 30.0])],
            ..PhaseTrial::default()
        }
    }

    /// The jobs use 0.8 and 0.2 CPUs, and 0.1 are busy at rest.
    #[test]
    fn what_the_jobs_use_and_the_rest_is_taken_off() {
        for (busy, wanted) in [(1.1, 0.0), (1.9, 0.8)] {
            let cpus = other_cpus(&phase(Some(busy)), 0.1).unwrap();
            assert!((cpus - wanted).abs() < 1e-9, "{cpus}, expected {wanted}");
        }
        assert_eq!(other_cpus(&phase(None), 0.1), None);
    }

    #[test]
    fn a_busy_machine_is_told_before_the_run_and_beside_it() {
        let ids = |busy: &[f64], idle: f64| -> Vec<String> {
            let trial = PointTrial {
                phases: busy.iter().map(|&busy| phase(Some(busy))).collect(),
                ..PointTrial::default()
            };
            let points = &[Point {
                trials: vec![trial],
                ..Point::default()
            }];
            let warnings = warnings(&LoadEvidence {
                points,
                phases: &[],
                captured: false,
                idle_busy_cpus: idle,
            });
            warnings
                .iter()
                .map(|warning| format!("{}: {}", warning.id, warning.found))
                .collect()
        };
        // Over two seconds, the counters may be off by half a hundredth of a CPU.
        assert_eq!(ids(&[1.0, 1.204], 0.0), Vec::<String>::new());
        let messages = ids(&[1.3, 1.0, 1.75], 0.0);
        assert_eq!(messages.len(), 1);
        for excerpt in ["others-ran: in 2 phases", "at most 0.75", "trial 1"] {
            assert!(messages[0].contains(excerpt), "{messages:?}");
        }
        let messages = ids(&[1.9], 0.9);
        assert_eq!(messages.len(), 1);
        let holds = messages[0].starts_with("busy-at-rest: 0.90 CPUs");
        assert!(holds, "{messages:?}");
    }
}
