//! Puts recommendations into words. The words are made from the recommendation and the figures of
//! the cells, and from nothing else.

mod caveats;

use crate::label;
use crate::quantity::{self, duration, number};
use q2c_policy::{KernelSleep, LaneMethod, Method, PolicySpec};
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{
    Cell, Lesson, Measured, PerCore, Recommendation, Relative, SAVING, TuneResult, Verdict, WORTH,
};

/// A block size's recommendation in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// What to use, with the number that matters, in sentences.
    pub verdict: String,
    /// The figures behind the verdict, a sentence each.
    pub evidence: Vec<String>,
    /// What limits the verdict, a sentence each. They stand right under it.
    pub caveats: Vec<String>,
    /// Whether the verdict is settled and nothing disturbed the trials.
    pub sure: bool,
    /// How to use the recommended method: lines to copy or to carry out.
    pub apply: Vec<String>,
}

/// Rules belong to one trade-off when their share of polling's IOPS differs from the nearest rule's
/// by at most this.
const ALIKE: f64 = 0.03;

/// Puts the recommendation for one block size into words.
#[must_use]
pub fn words(result: &TuneResult, recommendation: &Recommendation) -> Words {
    let of = Of {
        result,
        recommendation,
        cells: tried(result, recommendation),
    };
    Words {
        verdict: of.verdict(),
        evidence: of.evidence(),
        caveats: of.caveats(),
        sure: recommendation.is_settled() && of.disturbed().is_empty(),
        apply: of.apply(),
    }
}

/// The cells of the block size that have a trial. A run that was stopped has others, whose figures
/// are no measurement.
fn tried<'a>(result: &'a TuneResult, recommendation: &Recommendation) -> Vec<&'a Cell> {
    let mut cells = label::cells_of(result, recommendation.bs);
    cells.retain(|cell| cell.measured.rates.iops.trials > 0);
    cells
}

struct Of<'a> {
    result: &'a TuneResult,
    recommendation: &'a Recommendation,
    cells: Vec<&'a Cell>,
}

impl<'a> Of<'a> {
    fn cell(&self, method: &Method) -> Option<&'a Cell> {
        let mut cells = self.cells.iter().copied();
        cells.find(|cell| cell.method == *method)
    }

    /// The device's name for a line to copy, or a word to replace where there is none.
    fn device(&self) -> &'a str {
        let device = self.result.target.device.as_ref();
        device.map_or("DEVICE", |device| &device.name)
    }

    fn recommended(&self) -> Option<&'a Cell> {
        self.cell(&self.recommendation.method)
    }

    /// Cells that sleep by a rule of q2c's own, with their figures relative to polling.
    fn sleeping(&self) -> impl Iterator<Item = (&'a Cell, Relative)> {
        let own = self
            .cells
            .iter()
            .filter(|cell| policy(&cell.method).is_some());
        own.filter_map(|cell| Some((*cell, cell.relative?)))
    }

    fn verdict(&self) -> String {
        let is_settled = self.recommendation.is_settled();
        let verdict = match self.recommendation.verdict {
            Verdict::Rule | Verdict::Interrupt if is_settled => {
                return format!("Use {}", self.gain());
            }
            Verdict::Rule | Verdict::Interrupt => return format!("Best so far: {}", self.gain()),
            Verdict::TradeOff => self.trade_off(),
            Verdict::NoRoom => self.instead(
                "Sleeping does not pay on this device: no rule that leaves the CPU gained 10 % in IOPS per core.",
            ),
            Verdict::Limits => self.instead("Nothing that pays keeps the limits."),
            Verdict::Unverified => return self.instead("Nothing that sleeps was tried."),
        };
        // The caveats say why.
        if is_settled {
            verdict
        } else {
            verdict + " Not conclusive."
        }
    }

    /// The method to use where nothing that gains can be recommended, and why.
    fn instead(&self, reason: &str) -> String {
        let method = match &self.recommendation.method {
            &Method::POLL => "Poll".to_owned(),
            other => format!("Use {}", other.name()),
        };
        format!("{method}. {reason}")
    }

    /// Whether the floor is more than polling itself gives, so that polling is no way to keep it.
    fn above_polling(&self) -> bool {
        self.recommendation.floor > 1.0
    }

    /// Whether a rule is below the floor, saves CPU, and loses about as little IOPS as the nearest.
    fn has_trade(&self, nearest: &Relative) -> bool {
        self.sleeping().any(|(cell, of)| {
            of.kiops_per_core.median >= WORTH
                && cell.measured.rates.cpu_pct.median <= SAVING
                && (of.iops.median - nearest.iops.median).abs() <= ALIKE
                && of.iops.median < self.recommendation.floor
        })
    }

    /// What the nearest method would gain and cost, and how to have it all the same.
    fn trade_off(&self) -> String {
        let nearest = self.recommendation.nearest.as_ref();
        let nearest = nearest.and_then(|name| {
            let cell = self.cell(&name.0)?;
            Some((cell, cell.relative?))
        });
        match nearest {
            Some((cell, of)) if cell.method == Method::INTERRUPT => {
                self.trade("Interrupts", cell, &of)
            }
            Some((cell, of)) if self.has_trade(&of) => {
                self.trade(&format!("Sleeping by {}", cell.method.detail()), cell, &of)
            }
            _ => self.instead("Sleeping costs more IOPS than the floor allows."),
        }
    }

    fn trade(&self, what: &str, cell: &Cell, of: &Relative) -> String {
        let cpu = |cell: &Cell| cell.measured.rates.cpu_pct.median;
        let lost = (1.0 - of.iops.median) * 100.0;
        let (joined, costs) = if lost > 0.0 {
            ("but", format!("cost {} % of the IOPS", number(lost)))
        } else {
            ("and", "cost no IOPS".to_owned())
        };
        // Where polling has no figures of its own, nobody knows what it would free.
        let polling = self.cell(&Method::POLL);
        let freed = polling.map_or_else(String::new, |polling| {
            let freed = number(cpu(polling) - cpu(cell));
            format!("free {freed} % of a CPU {joined} ")
        });
        let reason = format!(
            "{what} would {freed}{costs} ({}x the {}). To accept that, run with --min-iops {}%.",
            number(of.kiops_per_core.median),
            per_core_unit(of),
            (of.iops.median * 100.0).floor()
        );
        if self.above_polling() {
            format!("Nothing keeps the floor, which is more than polling gives. {reason}")
        } else {
            self.instead(&reason)
        }
    }

    /// A method to use, and what it gains.
    fn gain(&self) -> String {
        let method = match &self.recommendation.method {
            &Method::INTERRUPT => "interrupts".to_owned(),
            method => format!("hybrid polling by {}", method.detail()),
        };
        let relative = self.recommended().and_then(|cell| cell.relative);
        let gain = relative.map_or_else(String::new, |of| {
            format!(
                ", {}x the {} of polling at {} % of its IOPS",
                quantity::median(&of.kiops_per_core, 1.0),
                per_core_unit(&of),
                quantity::median(&of.iops, 100.0)
            )
        });
        format!("{method}{gain}.")
    }

    fn evidence(&self) -> Vec<String> {
        let mut evidence = Vec::new();
        evidence.extend(self.recommended().and_then(|cell| self.beside("It", cell)));
        evidence.extend(self.nearest());
        evidence.extend(self.best_rule());
        evidence.extend(self.others());
        evidence.extend(self.over_linux());
        evidence.extend(self.by_kernel());
        evidence.push(self.floor());
        evidence
    }

    /// A sentence on a cell's figures relative to polling; `None` for polling itself.
    fn beside(&self, subject: &str, cell: &Cell) -> Option<String> {
        let of = cell.relative.filter(|_| cell.method != Method::POLL)?;
        let missed = match cell.sleeping {
            true => format!(
                ", {} % missed",
                number(cell.measured.rates.miss_rate.median * 100.0)
            ),
            false => String::new(),
        };
        Some(format!(
            "{subject} kept {} % of polling's IOPS at {} times the {} ({}, {} % CPU{missed})",
            ranged(&of.iops, 100.0),
            ranged(&of.kiops_per_core, 1.0),
            per_core_unit(&of),
            match of.iops.trials {
                1 => "1 trial".to_owned(),
                n => format!("{n} trials"),
            },
            number(cell.measured.rates.cpu_pct.median),
        ))
    }

    fn floor(&self) -> String {
        let Recommendation {
            floor, floor_asked, ..
        } = self.recommendation;
        let why = match floor_asked.as_str() {
            "" => String::new(),
            asked => format!(" (--min-iops {asked})"),
        };
        let above = match self.above_polling() {
            true => ", which is more than polling gives",
            false => "",
        };
        format!(
            "Floor: {} % of polling's IOPS{why}{above}",
            number(floor * 100.0)
        )
    }

    fn nearest(&self) -> Option<String> {
        let nearest = self.recommendation.nearest.as_ref()?;
        let cell = self.cell(&nearest.0)?;
        // `others` has the sentences on interrupts and Linux's rule.
        let told = cell.method == Method::INTERRUPT || cell.role == CellRole::Known(Role::Linux);
        self.beside(&nearest.0.detail(), cell).filter(|_| !told)
    }

    /// Where no rule is in the answer: a sentence on the rule with most KIOPS/core.
    fn best_rule(&self) -> Option<String> {
        let told = self.recommendation;
        let nearest = told.nearest.as_ref();
        let by_interrupts = nearest.is_some_and(|name| name.0 == Method::INTERRUPT);
        if told.verdict != Verdict::NoRoom && !by_interrupts {
            return None;
        }
        let per_core = |of: &Relative| of.kiops_per_core.median;
        let best = self
            .sleeping()
            .max_by(|a, b| per_core(&a.1).total_cmp(&per_core(&b.1)));
        let tried = self.sleeping().count();
        let (cell, _) = best?;
        let told = self.beside(&cell.method.detail(), cell)?;
        Some(format!("Best of {tried} rules by IOPS per core: {told}"))
    }

    /// The cell that ran Linux's rule.
    fn linux(&self) -> Option<&'a Cell> {
        self.cells
            .iter()
            .copied()
            .find(|cell| cell.role == CellRole::Known(Role::Linux))
    }

    /// Sentences on Linux's rule, interrupts and polling; Linux's rule and interrupts only if they
    /// are not recommended.
    fn others(&self) -> Vec<String> {
        let recommended = |cell: &Cell| label::is_recommended(cell, Some(self.recommendation));
        let mut others = Vec::new();
        if let Some(cell) = self.linux().filter(|cell| !recommended(cell)) {
            others.extend(self.beside("Linux's rule", cell));
        }
        if let Some(cell) = self
            .cell(&Method::INTERRUPT)
            .filter(|cell| !recommended(cell))
        {
            others.extend(self.beside("Interrupts", cell));
        }
        if let Some(cell) = self.cell(&Method::POLL) {
            let m = &cell.measured;
            others.push(format!(
                "Classic polling: {:.0} IOPS, {}",
                m.rates.iops.median,
                per_core(m)
            ));
        }
        others
    }

    fn over_linux(&self) -> Option<String> {
        let ratio = self.recommendation.over_linux?;
        let kept = self.linux()?.relative?.iops.median;
        let broke = match kept < self.recommendation.floor {
            true => ", which broke the floor",
            false => "",
        };
        // One trial has no interval.
        let interval = match ratio.low < ratio.high {
            true => format!(" (95 % interval {:.2} to {:.2})", ratio.low, ratio.high),
            false => String::new(),
        };
        Some(format!(
            "{:.2} times the IOPS per core of Linux's rule{broke}{interval}",
            ratio.ratio
        ))
    }

    /// Sentences on the kernel's own hybrid polling, where it ran.
    fn by_kernel(&self) -> Vec<String> {
        let is_kernels = |cell: &&&Cell| matches!(cell.method, Method::HybridKernel(_));
        let own = self.cells.iter().filter(is_kernels);
        let told = |cell: &&Cell| {
            let delay = match &cell.method {
                Method::HybridKernel(KernelSleep::Own) => "its own sleep".to_owned(),
                method => method.detail(),
            };
            let m = &cell.measured;
            let missed = match m.rates.miss_rate.trials {
                0 => "misses not seen".to_owned(),
                _ => format!("{} % missed", number(m.rates.miss_rate.median * 100.0)),
            };
            let kept = cell.relative.map_or_else(String::new, |of| {
                format!(
                    " It kept {} % of the IOPS of the kernel's classic polling at {} times the IOPS per core.",
                    ranged(&of.iops, 100.0),
                    ranged(&of.kiops_per_core, 1.0)
                )
            });
            format!(
                "In the kernel (preadv2, {delay}): {:.0} IOPS, {} % CPU, {}, {missed}.{kept}",
                m.rates.iops.median,
                number(m.rates.cpu_pct.median),
                per_core(m)
            )
        };
        own.map(told).chain(self.best_in_kernel()).collect()
    }

    /// Names the best of the kernel's own ways to sleep, with the line that sets it.
    fn best_in_kernel(&self) -> Option<String> {
        let Method::HybridKernel(sleep) = &self.recommendation.kernel.as_ref()?.0 else {
            return None;
        };
        let device = self.device();
        Some(match sleep {
            KernelSleep::Own => format!(
                "Best in the kernel: its own sleep (echo 0 > /sys/block/{device}/queue/io_poll_delay)"
            ),
            KernelSleep::Fixed(us) => format!(
                "Best in the kernel: a fixed sleep of {us} us, which does not follow the device (echo {us} > \
                 /sys/block/{device}/queue/io_poll_delay)"
            ),
            KernelSleep::Steered(policy) => format!(
                "Best in the kernel: steered by {policy} (q2c poll steer {device} --rule '{policy}')"
            ),
        })
    }

    fn apply(&self) -> Vec<String> {
        let engine = &self.result.job.engine;
        let aio = engine.starts_with("libaio");
        match &self.recommendation.method {
            Method::Lane(LaneMethod::Hybrid(policy)) => self.apply_rule(policy, aio),
            Method::Lane(LaneMethod::Interrupt) if aio => vec![format!(
                "{engine}: io_submit, then io_getevents with a minimum of 1"
            )],
            Method::Lane(LaneMethod::Interrupt) => vec![format!(
                "{engine}: submit and wait in one io_uring_enter call (min_complete = 1)"
            )],
            _ => vec![format!(
                "{engine}: submit, then look at the completion ring until the completion is there"
            )],
        }
    }

    fn apply_rule(&self, policy: &PolicySpec, aio: bool) -> Vec<String> {
        let ring = match aio {
            true => {
                "libaio: look at the completion ring mapped at the context's address; no completion ends a sleep"
            }
            false => {
                "ring: IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, so that a completion does not end the sleep"
            }
        };
        let asked = self.recommended();
        let asked = asked.map_or(0.0, |cell| cell.measured.rates.effective_sleep_ns.median);
        let us = ((asked / 1e3) as u64).max(1);
        let device = self.device();
        vec![
            format!("method hybrid:{policy} of q2c's engine is what was measured"),
            ring.to_owned(),
            "thread: prctl(PR_SET_TIMERSLACK, 1); after the submission returned, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME), then poll".to_owned(),
            format!(
                "the rule asked {} per I/O here; a fixed sleep of that length does not follow the device when it changes",
                duration(asked)
            ),
            format!("kernels 4.10 to 5.18 with poll queues: echo {us} > /sys/block/{device}/queue/io_poll_delay (fixed, whole microseconds)"),
        ]
    }
}

/// Puts the corrections that the trials made to the calibrated costs into words.
#[must_use]
pub fn lesson(lesson: &Lesson) -> String {
    let more = |ns: f64, what: &str| {
        let sign = if ns < 0.0 { "less" } else { "more" };
        format!("{} {sign} {what}", duration(ns.abs()))
    };
    let untouched = *lesson
        == (Lesson {
            bs: lesson.bs,
            rounds: lesson.rounds,
            trials: lesson.trials,
            sleep_cpu: 1.0,
            ..Lesson::default()
        });
    match untouched {
        true => format!(
            "as calibrated ({} trials of rules say no more)",
            lesson.trials
        ),
        false => format!(
            "corrected by {} trials of rules in {} rounds: {}, {}, {}, {} times the CPU of a sleep",
            lesson.trials,
            lesson.rounds,
            more(lesson.latency_ns, "device time after any sleep"),
            more(lesson.latency_per_sleep * 1e3, "for each us slept"),
            more(lesson.wake_ns, "wake-up delay"),
            number(lesson.sleep_cpu)
        ),
    }
}

/// KIOPS per core with their name, which are unknown where no trial knew the busy CPUs.
fn per_core(of: &Measured) -> String {
    match of.kiops_per_core.trials {
        0 => "KIOPS/core unknown".to_owned(),
        _ => format!("{} KIOPS/core", number(of.kiops_per_core.median)),
    }
}

/// What KIOPS per core divide by.
fn per_core_unit(of: &Relative) -> &'static str {
    match of.cores {
        PerCore::Machine => "IOPS per core",
        PerCore::Threads => "IOPS per core of the threads",
    }
}

/// The policy by which q2c's own thread sleeps; `None` for methods without one.
fn policy(method: &Method) -> Option<&PolicySpec> {
    method.lane()?.policy()
}

/// The median, with the interval if there is one: `98.4 [96.1, 101.3]`.
fn ranged(interval: &q2c_stats::Interval, scale: f64) -> String {
    let (median, range) = (
        quantity::median(interval, scale),
        quantity::range(interval, scale),
    );
    format!("{median} {range}").trim_end().to_owned()
}
