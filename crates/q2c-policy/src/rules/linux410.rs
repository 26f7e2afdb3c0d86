//! The first form of Linux' adaptive hybrid polling, of 4.10 and 4.11: it sleeps half the mean of
//! the running window.
//!
//! Reads and writes are separate, sizes are not. Windows last 2^27 ns (134 ms) and begin at
//! multiples of that. The mean is read while the window runs, so a window's first completion alone
//! already sets the sleep; until then the last window's mean is used. The kernel adds up per
//! hardware queue; NVMe has one for each CPU, so the state here is per CPU.

use super::share::{PERIOD, RATIO, Share};
use crate::form::Form;
use crate::registry::{Param, Scope, SleepRule};
use crate::state::StateReader;
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, PolicySpec, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "linux410",
    summary: "sleep a share of the running window's mean, as Linux 4.10 and 4.11 did",
    scope: Scope::PerCpu,
    follows_device: true,
    interrupts: false,
    params: &[
        RATIO,
        Param {
            summary: "length of a window",
            default: Some(134_217_728.0),
            ..PERIOD
        },
    ],
    example: "linux410",
    form,
};

fn form(spec: &PolicySpec) -> Form {
    let share = Share::new(spec.value("ratio"));
    let period = spec.integer("period");
    Form::opaque(move || Linux410 {
        share,
        period,
        newest: Default::default(),
    })
}

struct Linux410 {
    share: Share,
    period: u64,
    /// The newest windows of reads and of writes.
    newest: [RunningWindow; 2],
}

/// The newest window that has a sample; `sum` and `end` are in ns.
#[derive(Default)]
struct RunningWindow {
    samples: u64,
    sum: u64,
    end: u64,
}

impl Lane for Linux410 {
    fn decide(&mut self, io: Io, _: Nanos) -> (Decision, Token) {
        let newest = &self.newest[io.direction as usize];
        let mean = newest.sum.checked_div(newest.samples).unwrap_or(0);
        let sleep = self.share.apply(Nanos(mean)).min(MAX_SLEEP);
        (sleep.into(), Token::default())
    }

    fn complete(&mut self, io: Io, _: Token, outcome: Outcome, now: Nanos) {
        let newest = &mut self.newest[io.direction as usize];
        if now.0 >= newest.end {
            let end = (now.0 / self.period + 1).saturating_mul(self.period);
            *newest = RunningWindow {
                end,
                ..RunningWindow::default()
            };
        }
        newest.samples += 1;
        newest.sum = newest.sum.saturating_add(outcome.observed.0);
    }

    fn state(&self) -> Option<Vec<u64>> {
        let encode = |newest: &RunningWindow| [newest.samples, newest.sum, newest.end];
        Some(self.newest.iter().flat_map(encode).collect())
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let mut numbers = StateReader(state);
        for newest in &mut self.newest {
            *newest = RunningWindow {
                samples: numbers.next_count()?,
                sum: numbers.next_up_to(u64::MAX)?,
                end: numbers.next_up_to(u64::MAX)?,
            };
        }
        numbers.finish()
    }
}
