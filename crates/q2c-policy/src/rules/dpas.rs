//! DPAS (FAST'26) switches between polling, PAS and interrupts, depending on how contended the CPU
//! is.
//!
//! Modes last for numbers of I/Os, see [`DpasMode`]. A switch depends on two figures. One is
//! whether PAS wanted a sleep below its shortest, a *timer failure*: the wake-up is late whatever
//! the sleep, so the CPU is overloaded. The other is how many I/Os of the CPU are asleep at once,
//! averaged over the submissions in whole tenths. That is not the device's depth: a CPU that polls
//! for one I/O cannot run the thread of another.
//!
//! The kernel counts a thread as asleep until it has woken. A rule learns only of the completion.
//! Between the two the thread polls and holds its CPU, so no other submission on that CPU can see
//! the difference. The PAS inside uses its published steps.

use super::pas::{Pas, Sensitivity};
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::state::StateReader;
use crate::{Decision, Io, Lane, Outcome, PolicySpec, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "dpas",
    summary: "pas, polling when the CPU is idle otherwise and interrupts when it is contended (FAST'26)",
    scope: Scope::PerCpu,
    follows_device: true,
    interrupts: true,
    params: &[
        Param::new(
            "theta",
            "I/Os asleep at once on a CPU above which interrupts are used; 1 for NAND, 3 for 3D XPoint",
            ParamKind::Number,
            Some(1.0),
            0.1..=1e6,
        ),
        io_count("pas", "I/Os in pas before the next look", 100.0),
        io_count("poll", "I/Os in polling before pas again", 1_000.0),
        io_count("overload", "I/Os in overload before the next look", 100.0),
        io_count(
            "interrupt",
            "I/Os by interrupt before overload again",
            10_000.0,
        ),
    ],
    example: "dpas:theta=1",
    form,
};

const fn io_count(name: &'static str, summary: &'static str, default: f64) -> Param {
    Param::new(name, summary, ParamKind::Count, Some(default), 1.0..=1e9)
}

fn form(spec: &PolicySpec) -> Form {
    let limits = DpasLimits {
        theta_tenths: (spec.value("theta") * 10.0).round() as u64,
        ios_per_mode: ["pas", "poll", "overload", "interrupt"].map(|mode| spec.integer(mode)),
    };
    Form::opaque(move || Dpas {
        limits,
        pas: Pas::new(Sensitivity::PUBLISHED),
        mode: DpasMode::Pas,
        ios: 0,
        asleep_sum: 0,
        asleep: 0,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DpasMode {
    /// The rule sleeps as PAS says. This is the first mode.
    Pas,
    Poll,
    /// The rule sleeps as PAS says, while overload is suspected.
    Overload,
    Interrupt,
}

#[derive(Clone, Copy)]
struct DpasLimits {
    theta_tenths: u64,
    /// Number of I/Os that each mode lasts for, in the order of [`DpasMode`].
    ios_per_mode: [u64; 4],
}

#[derive(Clone, Copy, Debug)]
struct ModeFigures {
    depth_tenths: u64,
    failures: u64,
}

/// Mean number asleep, in tenths, while one thread has the CPU alone.
const ONE_THREAD_TENTHS: u64 = 10;

impl DpasMode {
    const ALL: [DpasMode; 4] = [
        DpasMode::Pas,
        DpasMode::Poll,
        DpasMode::Overload,
        DpasMode::Interrupt,
    ];

    fn next(self, figures: ModeFigures, limits: &DpasLimits) -> DpasMode {
        match self {
            DpasMode::Pas if figures.failures > 0 => DpasMode::Overload,
            DpasMode::Pas if figures.depth_tenths == ONE_THREAD_TENTHS => DpasMode::Poll,
            DpasMode::Poll => DpasMode::Pas,
            DpasMode::Overload if figures.depth_tenths <= ONE_THREAD_TENTHS => DpasMode::Pas,
            DpasMode::Overload if figures.depth_tenths > limits.theta_tenths => DpasMode::Interrupt,
            DpasMode::Interrupt => DpasMode::Overload,
            DpasMode::Pas | DpasMode::Overload => self,
        }
    }
}

struct Dpas {
    limits: DpasLimits,
    pas: Pas,
    mode: DpasMode,
    /// Number of I/Os since the mode began.
    ios: u64,
    /// Sum over the I/Os that slept of the number asleep at their submission, themselves included.
    asleep_sum: u64,
    asleep: u64,
}

/// The token of an I/O that did not sleep; tokens of PAS begin at 1.
const AWAKE: Token = Token(0);

impl Dpas {
    fn switch_if_due(&mut self) {
        if self.ios < self.limits.ios_per_mode[self.mode as usize] {
            return;
        }
        let figures = ModeFigures {
            depth_tenths: self.asleep_sum * 10 / self.ios,
            failures: std::mem::take(&mut self.pas.timer_failures),
        };
        self.mode = self.mode.next(figures, &self.limits);
        (self.ios, self.asleep_sum) = (0, 0);
    }

    fn decide_by_pas(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        let (decision, token) = self.pas.decide(io, now);
        if token != AWAKE {
            self.ios += 1;
            self.asleep += 1;
            self.asleep_sum += self.asleep;
        }
        (decision, token)
    }
}

impl Lane for Dpas {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        self.switch_if_due();
        let decision = match self.mode {
            DpasMode::Pas | DpasMode::Overload => return self.decide_by_pas(io, now),
            DpasMode::Poll => Decision::Poll,
            DpasMode::Interrupt => Decision::Interrupt,
        };
        self.ios += 1;
        (decision, AWAKE)
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        if token != AWAKE {
            self.asleep = self.asleep.saturating_sub(1);
            self.pas.complete(io, token, outcome, now);
        }
    }

    fn state(&self) -> Option<Vec<u64>> {
        let mut numbers = vec![self.mode as u64, self.ios, self.asleep_sum, self.asleep];
        numbers.extend(self.pas.state()?);
        Some(numbers)
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let mut numbers = StateReader(state);
        self.mode = *DpasMode::ALL.get(numbers.next_up_to(3)? as usize)?;
        // Modes last for up to 10^9 I/Os, and the sum is multiplied by ten.
        self.ios = numbers.next_up_to(1 << 32)?;
        self.asleep_sum = numbers.next_up_to(1 << 48)?;
        self.asleep = numbers.next_up_to(1 << 32)?;
        self.pas.restore(numbers.0)
    }
}
