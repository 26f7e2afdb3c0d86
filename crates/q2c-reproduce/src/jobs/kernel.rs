//! The kernel's hybrid polling under the jobs: set in each phase, and counted by a probe.

use super::PreparedJob;
use super::lanes::TrialJob;
use super::series::JobTrial;
use crate::file::TARGET;
use q2c_capture::kernel_hybrid::{Delay, HybridCounts, KernelHybrid};
use q2c_model::Nanos;
use q2c_policy::KernelSleep;
use q2c_result::reproduce::{JobSeries, PhaseTrial};
use q2c_watch::steer::PollDelayGuard;
use q2c_workbench::workload::Site;
use std::path::Path;

/// The target's polling in a trial. Dropping this value restores the setting.
pub(super) struct KernelPolling {
    /// `io_poll_delay`, locked; `None` if no job polls in its calls, or the file is missing.
    setting: Option<PollDelayGuard>,
    /// How jobs poll in each phase.
    phases: Vec<InCallPolling>,
    /// `None` if no job leaves the sleep to the kernel.
    sleep_probe: Option<SleepProbe>,
}

/// How jobs poll the target inside their calls in a phase.
#[derive(Clone, Debug, PartialEq)]
enum InCallPolling {
    /// No job does.
    Unused,
    /// Without a sleep.
    Classic,
    /// After this sleep.
    Hybrid(KernelSleep),
}

impl InCallPolling {
    fn sleep(&self) -> Option<&KernelSleep> {
        match self {
            InCallPolling::Hybrid(sleep) => Some(sleep),
            InCallPolling::Unused | InCallPolling::Classic => None,
        }
    }
}

enum SleepProbe {
    /// The probe, and its counts at the start of each slice so far.
    Probe(Box<KernelHybrid>, ProbeSamples),
    /// The sleeps cannot be seen, for this reason.
    Unseen(String),
}

#[derive(Default)]
struct ProbeSamples {
    /// Time of the next reading and length of a slice, ns; `None` before the start.
    next: Option<(u64, u64)>,
    counts: Vec<HybridCounts>,
}

impl KernelPolling {
    /// Locks the setting if a job polls in its calls.
    pub fn lock(jobs: &[TrialJob], site: &Site, journal: Option<&Path>) -> Result<Self, String> {
        let mut kernel = KernelPolling {
            setting: None,
            phases: polling_by_phase(jobs)?,
            sleep_probe: None,
        };
        let disk = site.target_disk.as_ref().map(|target| &target.disk);
        let with_file = disk.filter(|disk| Delay::path(disk).exists());
        let is_used = |phase: &InCallPolling| *phase != InCallPolling::Unused;
        let Some(disk) = with_file.filter(|_| kernel.phases.iter().any(is_used)) else {
            return Ok(kernel);
        };
        let journal = journal.ok_or("there is no folder for the journal of changed settings")?;
        // The daemon attaches its probe now, because nothing polls yet.
        let mut sleeps = kernel.phases.iter().filter_map(InCallPolling::sleep);
        let steered = sleeps.find(|sleep| matches!(sleep, KernelSleep::Steered(_)));
        let setting = PollDelayGuard::begin(&site.roots, disk, journal, steered);
        kernel.setting = Some(setting.map_err(|e| format!("failed to {e}"))?);
        let any_sleeps = (0..kernel.phases.len()).any(|phase| sleeper(jobs, phase).is_some());
        kernel.sleep_probe = any_sleeps.then(|| match KernelHybrid::attach(&site.roots, disk) {
            Ok(probe) => SleepProbe::Probe(Box::new(probe), ProbeSamples::default()),
            Err(error) => SleepProbe::Unseen(format!("failed to {error}")),
        });
        Ok(kernel)
    }

    /// Sets the kernel's sleep for a phase.
    pub(crate) fn enter(&mut self, phase: usize) -> Result<(), String> {
        let (Some(setting), polling) = (&mut self.setting, &self.phases[phase]) else {
            return Ok(());
        };
        match polling {
            InCallPolling::Unused => Ok(()),
            polling => setting
                .change(polling.sleep())
                .map_err(|e| format!("failed to {e}")),
        }
    }

    /// Puts the setting back. Fails if a daemon could not set what it was to.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        let restored = self.setting.take().map_or(Ok(()), PollDelayGuard::end);
        restored.map_err(|e| format!("failed to {e}"))
    }

    /// Starts the readings, one at the start of each slice. `start` is ns on the run's clock.
    pub(crate) fn start(&mut self, start: u64, slice: Nanos) {
        if let Some(SleepProbe::Probe(_, samples)) = &mut self.sleep_probe {
            samples.next = Some((start, slice.0));
        }
    }

    /// Reads the kernel's sleeps if due, and returns the time of the next reading, ns.
    pub(crate) fn read_if_due(&mut self, now: u64) -> Option<u64> {
        let Some(SleepProbe::Probe(probe, samples)) = &mut self.sleep_probe else {
            return None;
        };
        let (at, slice) = samples.next?;
        if at > now {
            return Some(at);
        }
        match probe.read() {
            Ok(counts) => {
                samples.counts.push(counts);
                samples.next = Some((at + slice, slice));
                Some(at + slice)
            }
            Err(error) => {
                self.sleep_probe = Some(SleepProbe::Unseen(format!("failed to {error}")));
                None
            }
        }
    }

    /// Adds the kernel's sleeps to the series of the job that leaves its sleep to the kernel.
    pub(crate) fn add_sleeps(&self, phases: &mut [PhaseTrial], slice: Nanos, run: &JobTrial<'_>) {
        let Some(sleep_probe) = &self.sleep_probe else {
            return;
        };
        for (n, phase) in phases.iter_mut().enumerate() {
            let Some(job) = sleeper(run.jobs, n) else {
                continue;
            };
            let mut jobs = phase.jobs.iter_mut();
            let series = jobs.find(|series| series.job == run.jobs[job].name);
            match (series, sleep_probe) {
                (Some(series), SleepProbe::Probe(_, samples)) => {
                    samples.add_sleeps(series, phase.begin_s, slice);
                }
                (Some(series), SleepProbe::Unseen(reason)) => {
                    series.sleeps_unseen = Some(reason.clone());
                }
                (None, _) => {}
            }
        }
    }
}

impl ProbeSamples {
    /// An interval gets the counts between the readings at its start and end; without both, none.
    fn add_sleeps(&self, series: &mut JobSeries, begin_s: f64, slice: Nanos) {
        for tick in &mut series.ticks {
            let cut = ((begin_s + tick.end_s) / slice.as_secs_f64()).round() as usize;
            let Some([begin, end]) = cut.checked_sub(1).and_then(|n| self.counts.get(n..=cut))
            else {
                continue;
            };
            let counts = end.since(*begin);
            tick.handled = counts.polled as f64;
            tick.rates.miss_rate = counts.miss_rate().unwrap_or(0.0);
            tick.rates.effective_sleep_ns = counts.effective_sleep_ns().unwrap_or(0.0);
        }
    }
}

fn sleeper(jobs: &[TrialJob], phase: usize) -> Option<usize> {
    jobs.iter().position(|trial_job| {
        let prepared = trial_job.phases[phase].as_ref();
        prepared.is_some_and(|job| job.kernel.is_some())
    })
}

fn polling_by_phase(jobs: &[TrialJob]) -> Result<Vec<InCallPolling>, String> {
    let phases = jobs.first().map_or(0, |trial_job| trial_job.phases.len());
    (0..phases).map(|n| in_call_polling(jobs, n)).collect()
}

/// The polling of a phase. Only one job may poll if it sleeps, since the probe cannot tell jobs
/// apart.
fn in_call_polling(jobs: &[TrialJob], phase: usize) -> Result<InCallPolling, String> {
    let polls = |job: &&PreparedJob| {
        let polls = job.engine.polls_in_call() || job.engine.needs_poll_queues();
        polls && job.settings.device == TARGET
    };
    let polling = jobs.iter().filter_map(|trial_job| {
        let job = trial_job.phases[phase].as_ref().filter(polls)?;
        Some((&trial_job.name, job.kernel.as_ref()))
    });
    let polling: Vec<_> = polling.collect();
    let Some((sleeping, sleep)) = polling.iter().find(|(_, sleep)| sleep.is_some()) else {
        return Ok(if polling.is_empty() {
            InCallPolling::Unused
        } else {
            InCallPolling::Classic
        });
    };
    match polling.iter().find(|(other, _)| other != sleeping) {
        Some((other, _)) => Err(format!(
            "{sleeping} and {other} poll the target in one phase: the kernel's sleep holds for the whole device; \
             let one of them wait for interrupts, or write hybrid:RULE"
        )),
        None => Ok(sleep.map_or(InCallPolling::Classic, |sleep| {
            InCallPolling::Hybrid(sleep.clone())
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::lanes::tests::{job_on, trial_job};
    use q2c_engine::EngineSpec;
    use q2c_result::reproduce::Tick;

    fn kernel_job(kernel: Option<KernelSleep>) -> Option<PreparedJob> {
        let engine = "pvsync2:hipri".parse::<EngineSpec>().unwrap();
        job_on("poll", 1, &[0]).map(|job| PreparedJob {
            engine,
            kernel,
            ..job
        })
    }

    #[test]
    fn the_sleep_of_each_phase() {
        let one = vec![
            kernel_job(Some(KernelSleep::Own)),
            kernel_job(Some(KernelSleep::Fixed(57))),
            kernel_job(None),
            None,
        ];
        // A null device is not polled.
        let other = vec![job_on("interrupt", 1, &[1]); 4];
        let of_both =
            |other| polling_by_phase(&[trial_job("one", one.clone()), trial_job("other", other)]);
        let phases = of_both(other).unwrap();
        let wanted = [
            InCallPolling::Hybrid(KernelSleep::Own),
            InCallPolling::Hybrid(KernelSleep::Fixed(57)),
            InCallPolling::Classic,
            InCallPolling::Unused,
        ];
        assert_eq!(phases, wanted);
        let reason = of_both(vec![kernel_job(None); 4]).unwrap_err();
        let holds = reason.starts_with("one and other poll the target");
        assert!(holds, "{reason}");
    }

    /// From 0.2 s to 0.3 s 10 requests completed, 4 missed, and 2000 ns of sleep were asked for.
    /// Then there was no I/O, then no reading.
    #[test]
    fn intervals_get_what_completed_in_them() {
        let at = |(polled, missed, asked_ns)| HybridCounts {
            polled,
            missed,
            asked_ns,
            ..HybridCounts::default()
        };
        let counts = [
            (0, 0, 0),
            (3, 1, 50),
            (5, 1, 100),
            (15, 5, 2100),
            (15, 5, 2100),
        ];
        let counts = counts.map(at).to_vec();
        let samples = ProbeSamples { next: None, counts };
        let tick = |end_s| Tick {
            end_s,
            ..Tick::default()
        };
        let mut series = JobSeries {
            ticks: [0.2, 0.3, 0.4].map(tick).to_vec(),
            ..JobSeries::default()
        };
        samples.add_sleeps(&mut series, 0.1, Nanos::from_millis(100));
        let seen = |t: &Tick| (t.handled, t.rates.miss_rate, t.rates.effective_sleep_ns);
        let seen: Vec<_> = series.ticks.iter().map(seen).collect();
        assert_eq!(seen, [(10.0, 0.4, 200.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]);
    }
}
