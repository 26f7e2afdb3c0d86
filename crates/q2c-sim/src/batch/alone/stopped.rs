//! A configuration that stopped between two I/Os, so that it can be stored and resumed elsewhere.

use super::windows::{IDLE, NEVER, Windows};
use super::{Alone, AloneCounts, AloneRun, AloneSimulator, FAR_AHEAD, RunningRule};
use crate::batch::LONGEST;
use crate::batch::histogram::LatencyHistogram;
use crate::batch::sums::Sums;
use crate::closed::WakeDraws;
use q2c_model::Nanos;
use q2c_policy::windowed::Gathered;
use q2c_policy::{BUCKETS, PolicySpec};
use serde::{Deserialize, Serialize};

/// Limit of counts, and of sums of times in ns, in a stopped state. It leaves room to resume.
const MOST: i64 = 1 << 60;
/// The longest mean of a window, ns: 13 days.
const LONGEST_MEAN: u64 = 1 << 50;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stopped {
    ios: u64,
    pub start: i64,
    /// The end of the last I/O, its think time included, ns.
    pub last: i64,
    pub too_long: bool,
    pub sums: Sums,
    pub latencies: Vec<(u16, u32)>,
    rule: StoppedRule,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum StoppedRule {
    Windows(StoppedWindows),
    Learned(Vec<u64>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoppedWindows {
    end: i64,
    asked: Vec<i32>,
    interrupts: u32,
    means: Vec<u64>,
    gathered: Vec<Vec<u64>>,
}

/// What an [`AloneSimulator`] runs: a policy, or `None` for classic polling.
pub(crate) type PolicyOrPolling<'a> = Option<&'a PolicySpec>;

impl AloneSimulator<'_> {
    /// The state before the first I/O; `None` if sleeps are too long or it cannot be stored.
    pub(crate) fn stopped(&self, rule: PolicyOrPolling<'_>) -> Option<Stopped> {
        self.begun(rule)?.stopped(self)
    }

    /// Simulates all I/Os of the one lane; returns `None` if a state does not fit its rule.
    pub(crate) fn go_through(
        &self,
        rules: &[PolicyOrPolling<'_>],
        all: &mut [Stopped],
    ) -> Option<()> {
        let resumed = |(rule, stopped): (&PolicyOrPolling<'_>, &Stopped)| {
            let done = stopped.is_done(self.stop);
            if done {
                Some(None)
            } else {
                self.resumed(*rule, stopped).map(Some)
            }
        };
        let pairs = rules.iter().zip(all.iter()).map(resumed);
        let mut alone = pairs.collect::<Option<Vec<_>>>()?;
        let first = all.iter().map(|stopped| stopped.start).min().unwrap_or(0);
        self.go_on_from(first, &mut alone);
        for (stopped, alone) in all.iter_mut().zip(alone) {
            if let Some(alone) = alone {
                *stopped = alone.stopped(self)?;
            }
        }
        Some(())
    }

    pub(crate) fn resumes(&self, rules: &[PolicyOrPolling<'_>], all: &[Stopped]) -> bool {
        let mut pairs = rules.iter().zip(all);
        let resumes = pairs.all(|(rule, stopped)| self.resumed(*rule, stopped).is_some());
        resumes && rules.len() == all.len()
    }

    fn begun(&self, rule: PolicyOrPolling<'_>) -> Option<Alone> {
        match rule {
            Some(policy) => self.begin(policy),
            None => Some(self.polling()),
        }
    }

    fn resumed(&self, rule: PolicyOrPolling<'_>, stopped: &Stopped) -> Option<Alone> {
        let mut alone = self.begun(rule)?;
        let [run] = alone.runs.as_mut_slice() else {
            return None;
        };
        let lane = run.lanes.first_mut()?;
        // `begun` has already added the time before the part's first I/O.
        lane.start = lane.start.checked_add(stopped.start)?;
        lane.ios = stopped.ios;
        lane.draw = WakeDraws::of_io(stopped.ios);
        match (&mut run.rule, &stopped.rule) {
            (RunningRule::Windows(windows), StoppedRule::Windows(stopped)) => {
                windows.resume(stopped, self)
            }
            (RunningRule::Feedback(rule), StoppedRule::Learned(numbers)) => {
                rule.go_on_from(numbers)
            }
            _ => None,
        }?;
        alone.counted = AloneCounts {
            sums: stopped.sums,
            latencies: LatencyHistogram::from_counts(&stopped.latencies)?,
            last: stopped.last,
            too_long: stopped.too_long,
            ..AloneCounts::default()
        };
        Some(alone)
    }
}

impl Alone {
    fn stopped(mut self, machine: &AloneSimulator<'_>) -> Option<Stopped> {
        let AloneRun { lanes, rule } = self.runs.pop()?;
        let lane = lanes.first()?;
        // After the last I/O the lane waits for another round, which does not come.
        let again = if lane.rounds == 0 {
            0
        } else {
            machine.traces.first()?.columns.first_at as i64
        };
        let counted = &mut self.counted;
        counted.sums += counted.open.close();
        Some(Stopped {
            ios: lane.ios,
            start: lane.start - again,
            last: counted.last,
            too_long: counted.too_long,
            sums: counted.sums,
            latencies: counted.latencies.counts(),
            rule: match rule {
                RunningRule::Windows(windows) => StoppedRule::Windows(windows.stopped()),
                RunningRule::Feedback(rule) => StoppedRule::Learned(rule.learned()?),
            },
        })
    }
}

impl Windows {
    fn stopped(&self) -> StoppedWindows {
        StoppedWindows {
            end: self.end,
            asked: self.sleeps.iter().map(|sleep| sleep.asked).collect(),
            interrupts: self.interrupts,
            means: self.means.iter().map(|mean| mean.0).collect(),
            gathered: self.gathered.iter().map(Gathered::numbers).collect(),
        }
    }

    fn resume(&mut self, stopped: &StoppedWindows, machine: &AloneSimulator<'_>) -> Option<()> {
        let ends = match self.rule {
            None => stopped.end == NEVER,
            Some(_) => stopped.end == IDLE || (0..NEVER).contains(&stopped.end),
        };
        let lists = stopped.asked.len() == BUCKETS + 1
            && stopped.means.len() == BUCKETS + 1
            && stopped.gathered.len() == self.gathered.len();
        (ends && lists && stopped.interrupts < 1 << BUCKETS).then_some(())?;
        (self.end, self.interrupts) = (stopped.end, stopped.interrupts);
        for (sleep, asked) in self.sleeps.iter_mut().zip(&stopped.asked) {
            let asked = u64::try_from(*asked).ok().filter(|ns| *ns <= LONGEST)?;
            *sleep = machine.price(Nanos(asked));
        }
        for (mean, ns) in self.means.iter_mut().zip(&stopped.means) {
            *mean = Nanos(Some(*ns).filter(|ns| *ns <= LONGEST_MEAN)?);
        }
        let gather = self.rule.as_ref().map(|rule| rule.gather);
        for (mine, numbers) in self.gathered.iter_mut().zip(&stopped.gathered) {
            *mine = Gathered::from_numbers(gather?, numbers)?;
        }
        Some(())
    }
}

impl Stopped {
    /// True if its numbers can come from I/Os and leave room to resume.
    pub(crate) fn is_sound(&self) -> bool {
        let times = 0..=FAR_AHEAD as i64;
        self.ios <= MOST as u64
            && times.contains(&self.start)
            && times.contains(&self.last)
            && self.sums.is_below(MOST)
            && LatencyHistogram::from_counts(&self.latencies).is_some()
    }

    /// True if it begins no more I/Os before `stop`, ns.
    pub(crate) fn is_done(&self, stop: i64) -> bool {
        self.start >= stop
    }
}
