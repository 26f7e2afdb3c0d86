//! What a recommendation says: its words are made here, from its names and the figures of the
//! cells, and from nothing else.

use crate::label;
use crate::quantity::{self, duration, number};
use q2c_result::tune::{
    Cell, Lesson, MethodName, PerCore, Recommendation, Relative, SAVING, TuneResult, Verdict, WORTH,
};

/// A recommendation in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// One sentence.
    pub verdict: String,
    /// The figures that it stands on, a sentence each.
    pub why: Vec<String>,
    /// Lines to copy or to do.
    pub apply: Vec<String>,
}

/// Rules whose IOPS are this near those of the nearest belong to the same trade-off.
const ALIKE: f64 = 0.03;

/// The words of one block size's recommendation.
#[must_use]
pub fn words(result: &TuneResult, recommendation: &Recommendation) -> Words {
    let of = Of {
        result,
        recommendation,
        cells: label::cells_of(result, recommendation.bs),
    };
    Words {
        verdict: of.verdict(),
        why: of.why(),
        apply: of.apply(),
    }
}

struct Of<'a> {
    result: &'a TuneResult,
    recommendation: &'a Recommendation,
    cells: Vec<&'a Cell>,
}

impl<'a> Of<'a> {
    fn cell(&self, method: &str, policy: &str) -> Option<&'a Cell> {
        let is = |cell: &&&Cell| cell.method == method && cell.policy == policy;
        self.cells.iter().find(is).copied()
    }

    fn named(&self, name: &MethodName) -> Option<&'a Cell> {
        self.cell(&name.method, &name.policy)
    }

    fn recommended(&self) -> Option<&'a Cell> {
        let Recommendation { method, policy, .. } = self.recommendation;
        self.cell(method, policy)
    }

    /// Cells that sleep by a rule of ours, with their paired figures.
    fn sleeping(&self) -> impl Iterator<Item = (&'a Cell, Relative)> {
        let own = self.cells.iter().filter(|cell| cell.method == "hybrid");
        own.filter_map(|cell| Some((*cell, cell.relative?)))
    }

    fn verdict(&self) -> String {
        let Recommendation { method, policy, .. } = self.recommendation;
        match self.recommendation.verdict {
            Verdict::Rule => format!("use {policy}"),
            Verdict::Interrupt => "use interrupts".to_owned(),
            Verdict::TradeOff => self.by_interrupts().unwrap_or_else(|| self.trade_off()),
            Verdict::NoRoom => format!(
                "no room to sleep: no rule that leaves the CPU gained 2 % over polling in KIOPS/core; use {method}"
            ),
            Verdict::Limits => format!("no sleep rule that pays keeps the limits; use {method}"),
            Verdict::Unverified => format!("nothing that sleeps was tried; use {method}"),
        }
    }

    /// The rules that lose about as little as the nearest, and gain.
    fn in_trade(&self) -> Vec<(&'a Cell, Relative)> {
        let nearest = self.recommendation.nearest.as_ref();
        let Some(nearest) = nearest.and_then(|name| self.named(name)?.relative) else {
            return Vec::new();
        };
        let pays = |cell: &Cell, of: &Relative| {
            of.kiops_per_core.median >= WORTH && cell.measured.cpu_pct.median <= SAVING
        };
        let near = |of: &Relative| (of.iops.median - nearest.iops.median).abs() <= ALIKE;
        self.sleeping()
            .filter(|(cell, of)| {
                pays(cell, of) && near(of) && of.iops.median < self.recommendation.floor
            })
            .collect()
    }

    /// Of a trade-off with interrupts.
    fn by_interrupts(&self) -> Option<String> {
        let nearest = self.recommendation.nearest.as_ref();
        let cell = self.named(nearest.filter(|name| name.method == "interrupt")?)?;
        let kept = cell.relative?.iops.median * 100.0;
        Some(format!(
            "a trade-off: interrupts cost {} % of the IOPS and take {} % CPU{}: use them with --min-iops {}%, \
             else {}",
            number(100.0 - kept),
            number(cell.measured.cpu_pct.median),
            self.where_polling_takes(),
            kept.floor(),
            self.recommendation.method
        ))
    }

    fn trade_off(&self) -> String {
        let method = &self.recommendation.method;
        let trade = self.in_trade();
        let Some(nearest) = self
            .recommendation
            .nearest
            .as_ref()
            .filter(|_| !trade.is_empty())
        else {
            return format!("sleeping costs more IOPS than the floor allows; use {method}");
        };
        let lost: Vec<f64> = trade
            .iter()
            .map(|(_, of)| (1.0 - of.iops.median) * 100.0)
            .collect();
        let taken: Vec<f64> = trade
            .iter()
            .map(|(cell, _)| cell.measured.cpu_pct.median)
            .collect();
        let least = self.named(nearest).and_then(|cell| cell.relative);
        let least = least.map_or(0.0, |of| (of.iops.median * 100.0).floor());
        format!(
            "a trade-off: sleeping costs {} % of the IOPS and takes {} % CPU{} ({}): use it with --min-iops {least}%, \
             else {method}",
            span(&lost),
            span(&taken),
            self.where_polling_takes(),
            nearest.policy
        )
    }

    /// Polling's CPU, which is less than a whole one where the hypervisor or a neighbour took some.
    fn where_polling_takes(&self) -> String {
        self.cell("poll", "").map_or_else(String::new, |cell| {
            let taken = number(cell.measured.cpu_pct.median);
            format!(" where polling takes {taken} %")
        })
    }

    fn why(&self) -> Vec<String> {
        let mut why = Vec::new();
        why.extend(self.recommended().and_then(|cell| self.beside("it", cell)));
        why.push(self.floor());
        why.extend(self.within());
        why.extend(self.nearest());
        why.extend(self.of_no_room());
        why.extend(self.following());
        why.extend(self.others());
        why.extend(self.over_linux());
        why.extend(self.open());
        why.extend(self.by_kernel());
        why
    }

    /// A cell's paired figures; nothing for polling, which they are paired with.
    fn beside(&self, subject: &str, cell: &Cell) -> Option<String> {
        let of = cell.relative.filter(|_| cell.method != "poll")?;
        let cores = match of.cores {
            PerCore::Machine => "KIOPS/core",
            PerCore::Threads => "KIOPS per core of the threads",
        };
        let missed = match cell.sleeping {
            true => format!(
                ", {} % missed",
                number(cell.measured.miss_rate.median * 100.0)
            ),
            false => String::new(),
        };
        Some(format!(
            "beside polling {subject} kept {} % of the IOPS at {} times the {cores} ({}; {} % CPU{missed})",
            ranged(&of.iops, 100.0),
            ranged(&of.kiops_per_core, 1.0),
            match of.iops.trials {
                1 => "1 trial".to_owned(),
                n => format!("{n} trials"),
            },
            number(cell.measured.cpu_pct.median),
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
        format!("floor {} % of polling's IOPS{why}", number(floor * 100.0))
    }

    /// The median of what is recommended may lie below the floor, where the floor lies within its
    /// interval.
    fn within(&self) -> Option<String> {
        let own = self.recommended()?.relative?.iops;
        (self.recommended()?.method != "poll" && own.median < self.recommendation.floor).then(
            || {
                "its median is below the floor, which lies within its trials' interval; the simulation that all trials corrected says that it keeps it"
                    .to_owned()
            },
        )
    }

    fn nearest(&self) -> Option<String> {
        let nearest = self.recommendation.nearest.as_ref()?;
        let cell = self.named(nearest)?;
        // Interrupts and Linux's rule are told among the others.
        let told = cell.method == "interrupt" || cell.role == "linux";
        self.beside(&nearest.policy, cell).filter(|_| !told)
    }

    /// Of no room: the rule that came furthest.
    fn of_no_room(&self) -> Option<String> {
        if self.recommendation.verdict != Verdict::NoRoom {
            return None;
        }
        let per_core = |of: &Relative| of.kiops_per_core.median;
        let best = self
            .sleeping()
            .max_by(|a, b| per_core(&a.1).total_cmp(&per_core(&b.1)));
        let tried = self.sleeping().count();
        let (cell, _) = best?;
        let told = self.beside(&cell.policy, cell)?;
        Some(format!("the best of {tried} rules by KIOPS/core: {told}"))
    }

    fn following(&self) -> Option<String> {
        let own = self.recommended().filter(|cell| cell.sleeping)?;
        if self.recommendation.follows {
            return None;
        }
        let follows = self.recommendation.following.as_ref();
        let Some((name, cell)) = follows.and_then(|name| Some((name, self.named(name)?))) else {
            return Some(
                "it does not follow the device when that changes; no rule that does kept the floor and paid"
                    .to_owned(),
            );
        };
        let (own, theirs) = (own.relative?, cell.relative?);
        let costs = (1.0 - theirs.kiops_per_core.median / own.kiops_per_core.median) * 100.0;
        let price = match costs > 0.0 {
            true => format!(
                "following the device costs {} % of KIOPS/core",
                number(costs)
            ),
            false => "following the device cost nothing here".to_owned(),
        };
        let told = self.beside(&name.policy, cell)?;
        Some(format!(
            "it does not follow the device when that changes; of the rules that do, {told}: {price}"
        ))
    }

    /// The cell of Linux's rule.
    fn linux(&self) -> Option<&'a Cell> {
        self.cells.iter().copied().find(|cell| cell.role == "linux")
    }

    /// Linux's rule, interrupts, polling: whatever of them is not recommended.
    fn others(&self) -> Vec<String> {
        let recommended = |cell: &Cell| label::is_recommended(cell, Some(self.recommendation));
        let mut others = Vec::new();
        if let Some(cell) = self.linux().filter(|cell| !recommended(cell)) {
            others.extend(self.beside("Linux's rule", cell));
        }
        if let Some(cell) = self.cell("interrupt", "").filter(|cell| !recommended(cell)) {
            others.extend(self.beside("interrupts", cell));
        }
        if let Some(cell) = self.cell("poll", "") {
            let m = &cell.measured;
            others.push(format!(
                "classic polling: {:.0} IOPS, {} KIOPS/core",
                m.iops.median,
                number(m.kiops_per_core.median)
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
        Some(format!(
            "KIOPS/core {:.2} times that of Linux's rule{broke} (95 % interval {:.2} to {:.2})",
            ratio.ratio, ratio.low, ratio.high
        ))
    }

    /// What more trials might change.
    fn open(&self) -> Option<String> {
        let r = self.recommendation;
        let names: Vec<String> = r.open.iter().take(3).map(told).collect();
        let more = match r.open.len().saturating_sub(names.len()) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "not settled: the trials leave open {}{more}, as single trials of one method scatter by {} %; --trials \
                 adds some",
                names.join(", "),
                number(r.noise_pct)
            )
        })
    }

    /// The kernel's own hybrid polling, where it ran.
    fn by_kernel(&self) -> Vec<String> {
        let own = self.cells.iter().filter(|c| c.method == "hybrid-kernel");
        let told = |cell: &&Cell| {
            let delay = match cell.policy.as_str() {
                "" => "its own sleep",
                fixed => fixed,
            };
            let m = &cell.measured;
            let missed = match m.miss_rate.trials {
                0 => "misses not seen".to_owned(),
                _ => format!("{} % missed", number(m.miss_rate.median * 100.0)),
            };
            format!(
                "in the kernel (preadv2, {delay}): {:.0} IOPS, {} % CPU, {} KIOPS/core, {missed}",
                m.iops.median,
                number(m.cpu_pct.median),
                number(m.kiops_per_core.median)
            )
        };
        own.map(told).collect()
    }

    fn apply(&self) -> Vec<String> {
        let engine = &self.result.job.engine;
        let aio = engine.starts_with("libaio");
        match self.recommendation.method.as_str() {
            "hybrid" => self.apply_rule(aio),
            "interrupt" if aio => vec![format!(
                "{engine}: io_submit, then io_getevents with a minimum of 1"
            )],
            "interrupt" => vec![format!(
                "{engine}: submit and wait in one io_uring_enter call (min_complete = 1)"
            )],
            _ => vec![format!(
                "{engine}: submit, then look at the completion ring until the completion is there"
            )],
        }
    }

    fn apply_rule(&self, aio: bool) -> Vec<String> {
        let policy = &self.recommendation.policy;
        let ring = match aio {
            true => {
                "libaio: look at the completion ring mapped at the context's address; no completion ends a sleep"
            }
            false => {
                "ring: IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, so that a completion does not end the sleep"
            }
        };
        let asked = self.recommended();
        let asked = asked.map_or(0.0, |cell| cell.measured.effective_sleep_ns.median);
        let us = ((asked / 1e3) as u64).max(1);
        let device = self.result.target.device.as_ref();
        let device = device.map_or("DEVICE", |device| &device.name);
        vec![
            format!("method hybrid:{policy} of q2c's engine is what was measured"),
            ring.to_owned(),
            "thread: prctl(PR_SET_TIMERSLACK, 1); after the submission returned, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME), then poll".to_owned(),
            format!(
                "the rule asked {} per I/O here; a fixed sleep of that length does not follow the device when it changes",
                duration(asked, "u")
            ),
            format!("kernels 4.10 to 5.18 with poll queues: echo {us} > /sys/block/{device}/queue/io_poll_delay (fixed, whole microseconds)"),
        ]
    }
}

/// What the trials taught about the costs, in words.
#[must_use]
pub fn lesson(lesson: &Lesson) -> String {
    let more = |ns: f64, what: &str| {
        let sign = if ns < 0.0 { "less" } else { "more" };
        format!("{} {sign} {what}", duration(ns.abs(), "u"))
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

fn told(name: &MethodName) -> String {
    label::method(&name.method, &name.policy)
}

/// `98.4 [96.1, 101.3]`, the interval only where there is one.
fn ranged(interval: &q2c_stats::Interval, scale: f64) -> String {
    let (median, range) = (
        quantity::median(interval, scale),
        quantity::range(interval, scale),
    );
    format!("{median} {range}").trim_end().to_owned()
}

/// `4.1` or `4.1 to 6.3`.
fn span(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = (format!("{least:.1}"), format!("{most:.1}"));
    match least == most {
        true => least,
        false => format!("{least} to {most}"),
    }
}
