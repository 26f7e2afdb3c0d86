//! A configuration that stopped between two I/Os, so that it can be stored and resumed elsewhere.

use super::windows::{IDLE, NEVER, Windows};
use super::{LaneRun, MAX_THINK_NS, PolicyCounts, PolicyRun, RunningRule, SingleSimulator};
use crate::batch::MAX_SLEEP_NS;
use crate::batch::histogram::LatencyHistogram;
use crate::batch::sums::Sums;
use crate::reference::WakeDraws;
use q2c_model::Nanos;
use q2c_policy::windowed::OpenWindow;
use q2c_policy::{BUCKETS, PolicySpec};
use serde::{Deserialize, Serialize};

/// Limit of counts, and of sums of times in ns, in a paused state. It leaves room to resume.
const MAX_SUM: i64 = 1 << 60;
/// The longest mean of a window, ns: 13 days.
const MAX_MEAN_NS: u64 = 1 << 50;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PausedRun {
    ios: u64,
    pub start: i64,
    /// The end of the last I/O, its think time included, ns.
    pub last: i64,
    pub too_long: bool,
    pub sums: Sums,
    pub latencies: Vec<(u16, u32)>,
    rule: PausedRule,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum PausedRule {
    Windows(PausedWindows),
    Learned(Vec<u64>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PausedWindows {
    end: i64,
    asked: Vec<i32>,
    interrupts: u32,
    means: Vec<u64>,
    gathered: Vec<Vec<u64>>,
}

/// The policy that a [`SingleSimulator`] runs; `None` for classic polling.
pub(crate) type PolicyOrPolling<'a> = Option<&'a PolicySpec>;

impl SingleSimulator<'_> {
    /// The state before the first I/O; `None` if a sleep is too long or a state cannot be stored.
    pub(crate) fn pause(&self, rule: PolicyOrPolling<'_>) -> Option<PausedRun> {
        self.start_rule(rule)?.pause(self)
    }

    /// Simulates all I/Os of the one lane; returns `None` if a state does not fit its rule.
    pub(crate) fn simulate_part(
        &self,
        rules: &[PolicyOrPolling<'_>],
        states: &mut [PausedRun],
    ) -> Option<()> {
        let resume = |(rule, paused): (&PolicyOrPolling<'_>, &PausedRun)| {
            if paused.is_done(self.stop) {
                return Some(None);
            }
            self.resume(*rule, paused).map(Some)
        };
        let pairs = rules.iter().zip(states.iter()).map(resume);
        let mut runs = pairs.collect::<Option<Vec<_>>>()?;
        let earliest = states.iter().map(|paused| paused.start).min().unwrap_or(0);
        self.advance_all(earliest, &mut runs);
        for (paused, run) in states.iter_mut().zip(runs) {
            if let Some(run) = run {
                *paused = run.pause(self)?;
            }
        }
        Some(())
    }

    pub(crate) fn can_resume(&self, rules: &[PolicyOrPolling<'_>], states: &[PausedRun]) -> bool {
        let mut pairs = rules.iter().zip(states);
        let resumes = pairs.all(|(rule, paused)| self.resume(*rule, paused).is_some());
        resumes && rules.len() == states.len()
    }

    fn start_rule(&self, rule: PolicyOrPolling<'_>) -> Option<PolicyRun> {
        match rule {
            Some(policy) => self.start(policy),
            None => Some(self.polling_run()),
        }
    }

    fn resume(&self, rule: PolicyOrPolling<'_>, paused: &PausedRun) -> Option<PolicyRun> {
        let mut policy_run = self.start_rule(rule)?;
        let [run] = policy_run.runs.as_mut_slice() else {
            return None;
        };
        let lane = run.lanes.first_mut()?;
        // `start_rule` has already added the time before the part's first I/O.
        lane.start = lane.start.checked_add(paused.start)?;
        lane.ios = paused.ios;
        lane.draw = WakeDraws::index_of_io(paused.ios);
        match (&mut run.rule, &paused.rule) {
            (RunningRule::Windows(windows), PausedRule::Windows(paused)) => {
                windows.resume(paused, self)
            }
            (RunningRule::Feedback(rule), PausedRule::Learned(numbers)) => rule.restore(numbers),
            _ => None,
        }?;
        policy_run.counts = PolicyCounts {
            sums: paused.sums,
            latencies: LatencyHistogram::from_counts(&paused.latencies)?,
            last_end: paused.last,
            too_long: paused.too_long,
            ..PolicyCounts::default()
        };
        Some(policy_run)
    }
}

impl PolicyRun {
    fn pause(mut self, machine: &SingleSimulator<'_>) -> Option<PausedRun> {
        let LaneRun { lanes, rule } = self.runs.pop()?;
        let lane = lanes.first()?;
        // After the last I/O the lane waits for another round, which does not come.
        let first_at = machine.traces.first()?.columns.first_at as i64;
        let repeat_offset = if lane.rounds == 0 { 0 } else { first_at };
        let counts = &mut self.counts;
        counts.sums += counts.open_sums.close();
        Some(PausedRun {
            ios: lane.ios,
            start: lane.start - repeat_offset,
            last: counts.last_end,
            too_long: counts.too_long,
            sums: counts.sums,
            latencies: counts.latencies.counts(),
            rule: match rule {
                RunningRule::Windows(windows) => PausedRule::Windows(windows.pause()),
                RunningRule::Feedback(rule) => PausedRule::Learned(rule.state()?),
            },
        })
    }
}

impl Windows {
    fn pause(&self) -> PausedWindows {
        PausedWindows {
            end: self.end,
            asked: self.sleeps.iter().map(|sleep| sleep.asked).collect(),
            interrupts: self.interrupt_buckets,
            means: self.means.iter().map(|mean| mean.0).collect(),
            gathered: self.gathered.iter().map(OpenWindow::to_numbers).collect(),
        }
    }

    fn resume(&mut self, paused: &PausedWindows, machine: &SingleSimulator<'_>) -> Option<()> {
        let end_valid = match self.rule {
            None => paused.end == NEVER,
            Some(_) => paused.end == IDLE || (0..NEVER).contains(&paused.end),
        };
        let lengths_valid = paused.asked.len() == BUCKETS + 1
            && paused.means.len() == BUCKETS + 1
            && paused.gathered.len() == self.gathered.len();
        (end_valid && lengths_valid && paused.interrupts < 1 << BUCKETS).then_some(())?;
        (self.end, self.interrupt_buckets) = (paused.end, paused.interrupts);
        for (sleep, asked) in self.sleeps.iter_mut().zip(&paused.asked) {
            let asked = u64::try_from(*asked)
                .ok()
                .filter(|ns| *ns <= MAX_SLEEP_NS)?;
            *sleep = machine.price(Nanos(asked));
        }
        for (mean, ns) in self.means.iter_mut().zip(&paused.means) {
            *mean = Nanos(Some(*ns).filter(|ns| *ns <= MAX_MEAN_NS)?);
        }
        let gather = self.rule.as_ref().map(|rule| rule.gather);
        for (window, numbers) in self.gathered.iter_mut().zip(&paused.gathered) {
            *window = OpenWindow::from_numbers(gather?, numbers)?;
        }
        Some(())
    }
}

impl PausedRun {
    /// True if the numbers can come from I/Os and leave room to resume.
    pub(crate) fn is_sound(&self) -> bool {
        let times = 0..=MAX_THINK_NS as i64;
        self.ios <= MAX_SUM as u64
            && times.contains(&self.start)
            && times.contains(&self.last)
            && self.sums.is_below(MAX_SUM)
            && LatencyHistogram::from_counts(&self.latencies).is_some()
    }

    /// True if no more I/O begins before `stop`, ns.
    pub(crate) fn is_done(&self, stop: i64) -> bool {
        self.start >= stop
    }
}
