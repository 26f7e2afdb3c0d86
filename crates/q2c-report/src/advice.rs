//! Puts recommendations into words: the answer, what limits it, and how to apply it. The words are
//! made from the recommendation and the figures of the cells, and from nothing else.

use crate::document::DocumentAnswer;
use crate::note::Weight;
use crate::phrase::{counted, when};
use crate::quantity::{duration, median, median_and_range, number, percent};
use crate::{label, validity};
use q2c_policy::{KernelSleep, LaneMethod, Method, PolicySpec};
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{
    Cell, Lesson, MAX_CPU_PCT, MIN_GAIN, Measured, MethodName, OpenQuestion, PerCore,
    Recommendation, Relative, TuneResult, Verdict,
};

/// The largest difference between the shares of polling's IOPS that two rules may have, if both are
/// to belong to one trade-off.
const MAX_TRADE_OFF_IOPS_GAP: f64 = 0.03;

/// Puts the recommendation for one block size into words.
#[must_use]
pub fn answer(result: &TuneResult, recommendation: &Recommendation) -> DocumentAnswer {
    let mut cells = label::cells_of(result, recommendation.bs);
    // A run that was stopped has cells without a trial, whose figures are no measurement.
    cells.retain(|cell| cell.measured.rates.iops.trials > 0);
    let advice = AdviceBasis {
        result,
        recommendation,
        cells,
    };
    DocumentAnswer {
        subject: format!("{} {}", recommendation.bs, result.job.rw),
        headline: advice.verdict(),
        weight: Weight::good_if(recommendation.is_settled() && advice.disturbances().is_empty()),
        caveats: advice.caveats(),
        evidence: advice.evidence(),
        to_do: advice.how_to_apply(),
    }
}

struct AdviceBasis<'a> {
    result: &'a TuneResult,
    recommendation: &'a Recommendation,
    cells: Vec<&'a Cell>,
}

impl<'a> AdviceBasis<'a> {
    fn find_cell(&self, is_wanted: impl Fn(&Cell) -> bool) -> Option<&'a Cell> {
        self.cells.iter().copied().find(|cell| is_wanted(cell))
    }

    fn cell(&self, method: &Method) -> Option<&'a Cell> {
        self.find_cell(|cell| cell.method == *method)
    }

    /// The device's name for a command to copy; a placeholder if the device is not known.
    fn device(&self) -> &'a str {
        let device = self.result.target.device.as_ref();
        device.map_or("DEVICE", |device| &device.name)
    }

    fn recommended(&self) -> Option<&'a Cell> {
        self.cell(&self.recommendation.method)
    }

    /// Cells that sleep by a rule of q2c's own, with their figures relative to polling.
    fn rule_cells(&self) -> impl Iterator<Item = (&'a Cell, Relative)> {
        let has_policy = |cell: &&&Cell| cell.method.lane().is_some_and(|l| l.policy().is_some());
        let rule_cells = self.cells.iter().filter(has_policy);
        rule_cells.filter_map(|cell| Some((*cell, cell.relative?)))
    }

    fn verdict(&self) -> String {
        let is_settled = self.recommendation.is_settled();
        let verdict = match self.recommendation.verdict {
            Verdict::Rule | Verdict::Interrupt => {
                let opening = if is_settled { "Use" } else { "Best so far:" };
                return format!("{opening} {}", self.method_with_gain());
            }
            Verdict::TradeOff => self.trade_off(),
            Verdict::NoRoom => {
                self.method_with_reason("Sleeping does not pay on this device: no rule that leaves the CPU gained 10 % in IOPS per core.")
            }
            Verdict::Limits => self.method_with_reason("Nothing that pays keeps the limits."),
            Verdict::Unverified => return self.method_with_reason("Nothing that sleeps was tried."),
        };
        // The caveats give the reasons.
        verdict + when(!is_settled, " Not conclusive.")
    }

    fn method_with_reason(&self, reason: &str) -> String {
        let method = match &self.recommendation.method {
            &Method::POLL => "Poll".to_owned(),
            other => format!("Use {}", other.name()),
        };
        format!("{method}. {reason}")
    }

    /// True if the floor is more than polling's own IOPS, so that polling cannot keep it either.
    fn above_polling(&self) -> bool {
        self.recommendation.floor > 1.0
    }

    /// True if a rule below the floor saves CPU and loses about as little IOPS as `nearest`.
    fn has_saving_rule_near(&self, nearest: &Relative) -> bool {
        self.rule_cells().any(|(cell, relative)| {
            relative.kiops_per_core.median >= MIN_GAIN
                && cell.measured.rates.cpu_pct.median <= MAX_CPU_PCT
                && (relative.iops.median - nearest.iops.median).abs() <= MAX_TRADE_OFF_IOPS_GAP
                && relative.iops.median < self.recommendation.floor
        })
    }

    fn nearest_cell(&self) -> Option<&'a Cell> {
        self.cell(&self.recommendation.nearest.as_ref()?.0)
    }

    /// A sentence on what the nearest method would gain and cost, and the option that allows it.
    fn trade_off(&self) -> String {
        let nearest = self.nearest_cell();
        match nearest.and_then(|cell| Some((cell, cell.relative?))) {
            Some((cell, relative)) if cell.method == Method::INTERRUPT => {
                self.trade_off_sentence("Interrupts", cell, &relative)
            }
            Some((cell, relative)) if self.has_saving_rule_near(&relative) => {
                let method = format!("Sleeping by {}", cell.method.detail());
                self.trade_off_sentence(&method, cell, &relative)
            }
            _ => self.method_with_reason("Sleeping costs more IOPS than the floor allows."),
        }
    }

    fn trade_off_sentence(&self, subject: &str, cell: &Cell, relative: &Relative) -> String {
        let reason = self.price(subject, cell, relative);
        if self.above_polling() {
            format!("Nothing keeps the floor, which is more than polling gives. {reason}")
        } else {
            self.method_with_reason(&reason)
        }
    }

    /// A sentence on what a method below the floor would free and cost, and one that names the
    /// option to allow it.
    fn price(&self, subject: &str, cell: &Cell, relative: &Relative) -> String {
        let cpu = |cell: &Cell| cell.measured.rates.cpu_pct.median;
        let lost_pct = (1.0 - relative.iops.median) * 100.0;
        let (conjunction, costs) = match lost_pct {
            pct if pct > 0.0 => ("but", format!("cost {} % of the IOPS", number(pct))),
            _ => ("and", "cost no IOPS".to_owned()),
        };
        // Without figures of polling it is unknown how much CPU the method would free.
        let polling = self.cell(&Method::POLL);
        let freed = polling.map(|polling| {
            let freed_pct = number(cpu(polling) - cpu(cell));
            let per_job = when(self.result.job.jobs > 1, " for each job");
            format!("free {freed_pct} % of a CPU{per_job} {conjunction} ")
        });
        format!(
            "{subject} would {}{costs} ({}x the {}). To accept that, run with --min-iops {}%.",
            freed.unwrap_or_default(),
            number(relative.kiops_per_core.median),
            per_core_unit(relative),
            (relative.iops.median * 100.0).floor()
        )
    }

    /// The recommended method, and what it gains over polling.
    fn method_with_gain(&self) -> String {
        let method = match &self.recommendation.method {
            &Method::INTERRUPT => "interrupts".to_owned(),
            method => format!("hybrid polling by {}", method.detail()),
        };
        let gain = self.recommended().and_then(|cell| cell.relative).map(|r| {
            let (times, unit) = (median(&r.kiops_per_core, 1.0), per_core_unit(&r));
            let iops = median(&r.iops, 100.0);
            format!(", {times}x the {unit} of polling at {iops} % of its IOPS")
        });
        format!("{method}{}.", gain.unwrap_or_default())
    }

    fn evidence(&self) -> Vec<String> {
        let recommended = self.recommended();
        let recommended = recommended.and_then(|cell| self.relative_sentence("It", cell));
        let rules = [recommended, self.nearest_sentence(), self.best_rule()];
        let mut evidence: Vec<String> = rules.into_iter().flatten().collect();
        evidence.extend(self.other_sentences());
        evidence.extend(self.over_linux());
        evidence.extend(self.kernel_sentences());
        evidence.push(self.floor_sentence());
        evidence
    }

    /// A sentence on a cell's figures relative to polling; `None` for polling itself.
    fn relative_sentence(&self, subject: &str, cell: &Cell) -> Option<String> {
        let relative = cell.relative.filter(|_| cell.method != Method::POLL)?;
        let rates = &cell.measured.rates;
        let missed = format!(", {} missed", percent(rates.miss_rate.median));
        Some(format!(
            "{subject} kept {} % of polling's IOPS at {} times the {} ({}, {} % CPU{})",
            median_and_range(&relative.iops, 100.0),
            median_and_range(&relative.kiops_per_core, 1.0),
            per_core_unit(&relative),
            counted(relative.iops.trials, "trial"),
            number(rates.cpu_pct.median),
            when(cell.sleeping, &missed)
        ))
    }

    fn floor_sentence(&self) -> String {
        let floor = percent(self.recommendation.floor);
        let option = match self.recommendation.floor_asked.as_str() {
            "" => String::new(),
            asked => format!(" (--min-iops {asked})"),
        };
        let above = when(self.above_polling(), ", which is more than polling gives");
        format!("Floor: {floor} of polling's IOPS{option}{above}")
    }

    fn nearest_sentence(&self) -> Option<String> {
        let cell = self.nearest_cell()?;
        // `other_sentences` has the sentences on interrupts and on Linux's rule.
        if cell.method == Method::INTERRUPT || cell.role == CellRole::Known(Role::Linux) {
            return None;
        }
        self.relative_sentence(&cell.method.detail(), cell)
    }

    fn best_rule(&self) -> Option<String> {
        let nearest = self.recommendation.nearest.as_ref();
        let by_interrupts = nearest.is_some_and(|name| name.0 == Method::INTERRUPT);
        if self.recommendation.verdict != Verdict::NoRoom && !by_interrupts {
            return None;
        }
        let per_core = |relative: &Relative| relative.kiops_per_core.median;
        let rules = self.rule_cells();
        let (cell, _) = rules.max_by(|a, b| per_core(&a.1).total_cmp(&per_core(&b.1)))?;
        let sentence = self.relative_sentence(&cell.method.detail(), cell)?;
        let tried = self.rule_cells().count();
        Some(format!(
            "Best of {tried} rules by IOPS per core: {sentence}"
        ))
    }

    fn linux(&self) -> Option<&'a Cell> {
        self.find_cell(|cell| cell.role == CellRole::Known(Role::Linux))
    }

    /// Sentences on Linux's rule, interrupts and polling. Linux's rule and interrupts are left out
    /// where they are recommended.
    fn other_sentences(&self) -> Vec<String> {
        let named = [
            ("Linux's rule", self.linux()),
            ("Interrupts", self.cell(&Method::INTERRUPT)),
        ];
        let sentences = named.into_iter().filter_map(|(name, cell)| {
            let is_other = |cell: &&Cell| !label::is_recommended(cell, Some(self.recommendation));
            self.relative_sentence(name, cell.filter(is_other)?)
        });
        let polling = self.cell(&Method::POLL).map(|cell| {
            let (iops, per_core) = (cell.measured.rates.iops.median, per_core(&cell.measured));
            format!("Classic polling: {iops:.0} IOPS, {per_core}")
        });
        sentences.chain(polling).collect()
    }

    fn over_linux(&self) -> Option<String> {
        let ratio = self.recommendation.over_linux?;
        let iops = self.linux()?.relative?.iops.median;
        let breach = when(iops < self.recommendation.floor, ", which broke the floor");
        // A single trial has no interval.
        let interval = format!(" (95 % interval {:.2} to {:.2})", ratio.low, ratio.high);
        let times = format!("{:.2} times the IOPS per core of Linux's rule", ratio.ratio);
        Some(times + breach + when(ratio.low < ratio.high, &interval))
    }

    /// Sentences on the kernel's own hybrid polling, if it ran.
    fn kernel_sentences(&self) -> Vec<String> {
        let sentences = self.cells.iter().filter_map(|cell| {
            let delay = match &cell.method {
                Method::HybridKernel(KernelSleep::Own) => "its own sleep".to_owned(),
                method @ Method::HybridKernel(_) => method.detail(),
                _ => return None,
            };
            let rates = &cell.measured.rates;
            let missed = match rates.miss_rate.trials {
                0 => "misses not seen".to_owned(),
                _ => format!("{} missed", percent(rates.miss_rate.median)),
            };
            let against_polling = cell.relative.map(|relative| {
                format!(
                    " It kept {} % of the IOPS of the kernel's classic polling at {} times the IOPS per core.",
                    median_and_range(&relative.iops, 100.0),
                    median_and_range(&relative.kiops_per_core, 1.0)
                )
            });
            Some(format!(
                "In the kernel (preadv2, {delay}): {:.0} IOPS, {} % CPU, {}, {missed}.{}",
                rates.iops.median,
                number(rates.cpu_pct.median),
                per_core(&cell.measured),
                against_polling.unwrap_or_default()
            ))
        });
        sentences.chain(self.best_in_kernel()).collect()
    }

    /// Names the best of the kernel's own ways to sleep, with the line that sets it.
    fn best_in_kernel(&self) -> Option<String> {
        let Method::HybridKernel(sleep) = &self.recommendation.kernel.as_ref()?.0 else {
            return None;
        };
        let device = self.device();
        Some(match sleep {
            KernelSleep::Own => {
                format!(
                    "Best in the kernel: its own sleep (echo 0 > /sys/block/{device}/queue/io_poll_delay)"
                )
            }
            KernelSleep::Fixed(us) => format!(
                "Best in the kernel: a fixed sleep of {us} us, which does not follow the device (echo {us} > \
                 /sys/block/{device}/queue/io_poll_delay)"
            ),
            KernelSleep::Steered(policy) => {
                format!(
                    "Best in the kernel: steered by {policy} (q2c poll steer {device} --rule '{policy}')"
                )
            }
        })
    }

    fn how_to_apply(&self) -> Vec<String> {
        let engine = &self.result.job.engine;
        let is_aio = engine.starts_with("libaio");
        let how = match &self.recommendation.method {
            Method::Lane(LaneMethod::Hybrid(policy)) => return self.apply_rule(policy, is_aio),
            Method::Lane(LaneMethod::Interrupt) if is_aio => {
                "io_submit, then io_getevents with a minimum of 1"
            }
            Method::Lane(LaneMethod::Interrupt) => {
                "submit and wait in one io_uring_enter call (min_complete = 1)"
            }
            _ => "submit, then look at the completion ring until the completion is there",
        };
        vec![format!("{engine}: {how}")]
    }

    fn apply_rule(&self, policy: &PolicySpec, is_aio: bool) -> Vec<String> {
        let ring = if is_aio {
            "libaio: look at the completion ring mapped at the context's address; no completion ends a sleep"
        } else {
            "ring: IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, or each completion ends the sleep"
        };
        let rates = self.recommended().map(|cell| &cell.measured.rates);
        let sleep_ns = rates.map_or(0.0, |rates| rates.effective_sleep_ns.median);
        let us = ((sleep_ns / 1e3) as u64).max(1);
        let device = self.device();
        vec![
            format!("rule: hybrid:{policy}, as q2c ran it"),
            ring.to_owned(),
            "thread: prctl(PR_SET_TIMERSLACK, 1) once; after each submission clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME), then poll".to_owned(),
            format!(
                "sleep: {} per I/O here; a fixed sleep of that length does not follow the device",
                duration(sleep_ns)
            ),
            format!("Linux 4.10 to 5.18 with poll queues: echo {us} > /sys/block/{device}/queue/io_poll_delay (fixed, whole microseconds)"),
        ]
    }

    fn caveats(&self) -> Vec<String> {
        let mut caveats = self.disturbances();
        let undecided = self.recommendation.undecided.iter();
        caveats.extend(undecided.map(|case| self.undecided_sentence(case)));
        let doubts = [
            self.open_methods(),
            self.below_floor(),
            self.device_changes(),
            self.worse_over_run(),
        ];
        let costs = [self.interrupts_gain_more(), self.misses_most()];
        caveats.extend(doubts.into_iter().chain(costs).flatten());
        caveats
    }

    /// The price of interrupts, if they are below the floor and give more IOPS per core than the
    /// recommended rule.
    fn interrupts_gain_more(&self) -> Option<String> {
        let rule = self.recommended().filter(|cell| cell.sleeping)?.relative?;
        let interrupts = self.cell(&Method::INTERRUPT)?;
        let relative = interrupts.relative.filter(|it| it.cores == rule.cores)?;
        let gains = relative.kiops_per_core.median > MIN_GAIN * rule.kiops_per_core.median;
        let is_below = relative.iops.median < self.recommendation.floor;
        (gains && is_below).then(|| self.price("Interrupts", interrupts, &relative))
    }

    fn misses_most(&self) -> Option<String> {
        let rule = self.recommended().filter(|cell| cell.sleeping)?;
        let miss_rate = rule.measured.rates.miss_rate.median;
        let missed = percent(miss_rate);
        (miss_rate > MAX_MISS_RATE)
            .then(|| format!("It misses {missed} of the completions: it wakes after them."))
    }

    /// A sentence for each kind of disturbance of this block size's trials.
    fn disturbances(&self) -> Vec<String> {
        // A warning about one block size starts with that size.
        let is_of_other_size = |found: &str| {
            let mut sizes = self.result.recommendation.iter().map(|other| other.bs);
            let this_size = self.recommendation.bs;
            sizes.any(|bs| bs != this_size && found.starts_with(&format!("{bs}: ")))
        };
        let warnings = self.result.warnings.iter();
        validity::caveats(warnings.filter(|warning| !is_of_other_size(&warning.found)))
    }

    fn undecided_sentence(&self, case: &OpenQuestion) -> String {
        match case {
            OpenQuestion::SingleTrials { single, tried } => format!(
                "{single} of {tried} methods have one trial, which has no interval, so nothing is decided by intervals. \
                 --trials 3 gives them one."
            ),
            OpenQuestion::Untried(methods) => format!(
                "Not in this answer, for want of a trial that can be compared: {}.",
                first_three_names(methods)
            ),
            OpenQuestion::FloorWithin { min, max } => format!(
                "Its trials gave {} to {} of polling's IOPS, so they do not say whether it keeps the floor of {}.",
                number(min * 100.0),
                percent(*max),
                percent(self.recommendation.floor)
            ),
        }
    }

    /// Names the methods that more trials might still make the answer.
    fn open_methods(&self) -> Option<String> {
        let r = self.recommendation;
        // Without a method that has two trials, the scatter is unknown.
        let mut trials = self.cells.iter().map(|c| c.measured.rates.iops.trials);
        let scatter_origin = if trials.any(|trials| trials > 1) {
            "as seen, and 4 % assumed for one more"
        } else {
            "assumed, as no method has two"
        };
        let others = r.open.iter().filter(|name| name.0 != r.method);
        let others: Vec<_> = others.cloned().collect();
        let still_open = match others.as_slice() {
            [] => "It needs more trials of its own".to_owned(),
            others => format!("Still open: {}", first_three_names(others)),
        };
        let noise = number(r.noise_pct);
        let scatter = format!("Single trials of a method scatter by {noise} % ({scatter_origin})");
        (!r.open.is_empty()).then(|| format!("{still_open}. {scatter}; --trials adds some."))
    }

    fn worse_over_run(&self) -> Option<String> {
        let elsewhere = self.recommendation.elsewhere.as_ref()?;
        Some(format!(
            "{} kept {} of polling's IOPS in its own trials. Over all states that the device had in this run it \
             would keep {} (simulated).",
            label::method(&elsewhere.method.0),
            percent(elsewhere.iops),
            percent(elsewhere.iops_over_run)
        ))
    }

    /// A caveat if the median of the recommended method is below the floor. Such a method can be
    /// recommended while the floor lies within its interval.
    fn below_floor(&self) -> Option<String> {
        let is_below = self.recommended()?.relative?.iops.median < self.recommendation.floor;
        const KEEPS: &str = "The simulation that all trials corrected says that it keeps it.";
        (self.recommendation.method != Method::POLL && is_below)
            .then(|| format!("Its median is below the floor. {KEEPS}"))
    }

    fn device_changes(&self) -> Option<String> {
        let recommended = self.recommended().filter(|cell| cell.sleeping)?;
        if self.recommendation.follows {
            return None;
        }
        let following = self.recommendation.following.as_ref();
        const FIXED_SLEEP: &str = "It does not follow the device when that changes.";
        let Some(cell) = following.and_then(|name| self.cell(&name.0)) else {
            let no_rule = "No rule that does kept the floor and paid.";
            return Some(format!("{FIXED_SLEEP} {no_rule}"));
        };
        let (ours, theirs) = (recommended.relative?, cell.relative?);
        let cost_pct = (1.0 - theirs.kiops_per_core.median / ours.kiops_per_core.median) * 100.0;
        let price = match cost_pct {
            lost if lost > 0.0 => format!("costs {} % of the IOPS per core", number(lost)),
            _ => "cost nothing here".to_owned(),
        };
        let figures = self.relative_sentence(&cell.method.detail(), cell)?;
        let price = format!("Following the device {price}");
        Some(format!("{FIXED_SLEEP} {price}. {figures}."))
    }
}

/// Puts the corrections that the trials made to the calibrated costs into words.
#[must_use]
pub(crate) fn lesson_text(lesson: &Lesson) -> String {
    let change = |ns: f64, what: &str| {
        let comparative = if ns < 0.0 { "less" } else { "more" };
        format!("{} {comparative} {what}", duration(ns.abs()))
    };
    let (rounds, trials) = (lesson.rounds, lesson.trials);
    let corrections = (lesson.latency_ns, lesson.latency_per_sleep, lesson.wake_ns);
    if corrections == (0.0, 0.0, 0.0) && lesson.sleep_cpu == 1.0 {
        return format!("as calibrated ({trials} trials of rules say no more)");
    }
    format!(
        "corrected by {trials} trials of rules in {rounds} rounds: {}, {}, {}, {} times the CPU of a sleep",
        change(lesson.latency_ns, "device time after any sleep"),
        change(lesson.latency_per_sleep * 1e3, "for each us slept"),
        change(lesson.wake_ns, "wake-up delay"),
        number(lesson.sleep_cpu)
    )
}

fn per_core(measured: &Measured) -> String {
    match measured.kiops_per_core.trials {
        0 => "KIOPS/core unknown".to_owned(),
        _ => format!("{} KIOPS/core", number(measured.kiops_per_core.median)),
    }
}

fn per_core_unit(relative: &Relative) -> &'static str {
    match relative.cores {
        PerCore::Machine => "IOPS per core",
        PerCore::Threads => "IOPS per core of the threads",
    }
}

/// The share of completions that a rule may miss before it gets a caveat.
const MAX_MISS_RATE: f64 = 0.5;

fn first_three_names(methods: &[MethodName]) -> String {
    let names: Vec<String> = methods.iter().map(|name| label::method(&name.0)).collect();
    label::first_names(&names, 3)
}
