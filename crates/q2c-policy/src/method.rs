//! Completion methods: how a thread waits for an I/O. All parts of q2c use these types.

mod means;
pub mod parts;

pub use means::Means;

use crate::{Lane, PolicySpec, SpecError};
use q2c_model::{CpuId, Nanos};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A method that q2c's own thread carries out. Only these can be simulated and recommended.
#[derive(Clone, Debug, PartialEq)]
pub enum LaneMethod {
    /// The thread leaves its CPU until the interrupt.
    Interrupt,
    /// The thread looks for the completion again and again, in memory or by asking the device.
    Poll,
    /// The thread sleeps as this rule says, then polls.
    Hybrid(PolicySpec),
}

/// A completion method.
///
/// Its text is what the command line takes and what results hold: `interrupt`, `poll`,
/// `hybrid:POLICY`, `sqpoll`, `sqpoll-iopoll`, `hybrid-uring`, `hybrid-kernel`,
/// `hybrid-kernel:57us`, `hybrid-kernel:POLICY`.
///
/// ```
/// use q2c_policy::Method;
///
/// let method: Method = "hybrid:min:70%,10ms".parse()?;
/// assert_eq!(method.name(), "hybrid");
/// assert_eq!(method.to_string(), "hybrid:min:ratio=70%,period=10ms");
/// assert!("polling".parse::<Method>().is_err());
/// # Ok::<(), q2c_policy::ParseMethodError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// A method that q2c's own thread carries out.
    Lane(LaneMethod),
    /// io_uring: a kernel thread per job submits, and the job looks for completions in memory.
    SqPoll,
    /// io_uring: as `SqPoll`, and the kernel thread also asks the device for completions.
    SqPollIoPoll,
    /// io_uring: the kernel sleeps, then asks the device (Linux 6.13).
    HybridUring,
    /// preadv2 with RWF_HIPRI: the kernel sleeps, then asks the device (Linux 4.10 to 5.18).
    HybridKernel(KernelSleep),
}

/// The party that decides how long the kernel sleeps, by `queue/io_poll_delay`.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelSleep {
    /// The kernel: half the mean of the last 100 ms (`io_poll_delay` is 0).
    Own,
    /// A fixed sleep in whole microseconds, from 1 to [`KernelSleep::MAX_US`].
    Fixed(u32),
    /// A daemon writes the sleep of this rule to the setting again and again.
    Steered(PolicySpec),
}

/// A [`LaneMethod`] prepared for one thread.
pub enum Wait {
    /// The thread waits for the interrupt.
    Interrupt,
    /// The thread looks all the time; if the engine polls in the kernel, one call per wait.
    Poll,
    /// The thread does what a sleep rule says: sleeps and then polls, polls at once, or waits for
    /// the interrupt. With several I/Os in flight the lane sleeps once, for the oldest of them, and
    /// then polls for any of them.
    Hybrid(Box<dyn Lane>),
}

impl KernelSleep {
    /// The longest fixed sleep, us: the kernel keeps nanoseconds in an `int`.
    pub(crate) const MAX_US: u32 = i32::MAX as u32 / 1_000;

    /// The nearest whole microsecond from 1 to [`Self::MAX_US`], as the setting holds it.
    pub fn whole_us(sleep: Nanos) -> u32 {
        (sleep.0.saturating_add(500) / 1_000).clamp(1, Self::MAX_US.into()) as u32
    }

    /// A fixed sleep of [`Self::whole_us`] microseconds.
    pub fn fixed(sleep: Nanos) -> Self {
        KernelSleep::Fixed(Self::whole_us(sleep))
    }
}

impl LaneMethod {
    /// The sleep rule; `None` for a method without one.
    pub fn policy(&self) -> Option<&PolicySpec> {
        match self {
            LaneMethod::Hybrid(policy) => Some(policy),
            LaneMethod::Interrupt | LaneMethod::Poll => None,
        }
    }

    /// The same method, whose formula, if it has one, counts its results from 0.
    pub fn with_new_counts(&self) -> Self {
        match self {
            LaneMethod::Hybrid(policy) => LaneMethod::Hybrid(policy.with_new_counts()),
            other => other.clone(),
        }
    }

    /// True if the sleep adapts to the device; see [`PolicySpec::follows_the_device`].
    pub fn follows_the_device(&self) -> bool {
        self.policy().is_none_or(PolicySpec::follows_the_device)
    }

    /// One [`Wait`] per thread, in the order of `cpus`, all for one device. Threads on the same CPU
    /// share the state of a rule with scope per CPU.
    pub fn build_on(&self, cpus: &[CpuId]) -> Vec<Wait> {
        match self {
            LaneMethod::Interrupt => cpus.iter().map(|_| Wait::Interrupt).collect(),
            LaneMethod::Poll => cpus.iter().map(|_| Wait::Poll).collect(),
            LaneMethod::Hybrid(policy) => {
                let lanes = policy.build_on(cpus).into_iter();
                lanes.map(Wait::Hybrid).collect()
            }
        }
    }

    /// As [`Self::build_on`] for `lanes` threads, each on a CPU of its own.
    pub fn build(&self, lanes: usize) -> Vec<Wait> {
        let cpus: Vec<CpuId> = (0..lanes as u32).map(CpuId).collect();
        self.build_on(&cpus)
    }
}

impl Method {
    /// The method that waits for interrupts.
    pub const INTERRUPT: Method = Method::Lane(LaneMethod::Interrupt);
    /// The method of classic polling.
    pub const POLL: Method = Method::Lane(LaneMethod::Poll);

    /// The method, if q2c's own thread carries it out.
    pub fn lane(&self) -> Option<&LaneMethod> {
        match self {
            Method::Lane(method) => Some(method),
            _ => None,
        }
    }

    /// The name without a rule or a sleep, as the field `method` of results has it.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Lane(LaneMethod::Interrupt) => "interrupt",
            Method::Lane(LaneMethod::Poll) => "poll",
            Method::Lane(LaneMethod::Hybrid(_)) => "hybrid",
            Method::SqPoll => "sqpoll",
            Method::SqPollIoPoll => "sqpoll-iopoll",
            Method::HybridUring => "hybrid-uring",
            Method::HybridKernel(_) => "hybrid-kernel",
        }
    }

    /// The text behind the name and a colon: the rule, or the kernel's fixed sleep (`57us`).
    pub fn detail(&self) -> String {
        match self {
            Method::Lane(LaneMethod::Hybrid(policy))
            | Method::HybridKernel(KernelSleep::Steered(policy)) => policy.to_string(),
            Method::HybridKernel(KernelSleep::Fixed(us)) => format!("{us}us"),
            _ => String::new(),
        }
    }

    /// A short form: the rule alone if q2c's own thread sleeps, else the full text.
    pub fn brief(&self) -> String {
        match self {
            Method::Lane(LaneMethod::Hybrid(policy)) => policy.to_string(),
            _ => self.to_string(),
        }
    }

    /// True if two methods differ at most in numbers. Two formulas count as different rules.
    pub fn same_rule(&self, other: &Method) -> bool {
        use KernelSleep::{Fixed, Steered};
        use LaneMethod::Hybrid;
        match (self, other) {
            (Method::Lane(Hybrid(a)), Method::Lane(Hybrid(b)))
            | (Method::HybridKernel(Steered(a)), Method::HybridKernel(Steered(b))) => {
                a.same_rule(b)
            }
            (Method::HybridKernel(Fixed(_)), Method::HybridKernel(Fixed(_))) => true,
            _ => self == other,
        }
    }

    /// The shortest time between two changes of the sleep; `None` without windows of time.
    pub fn period(&self) -> Option<Nanos> {
        match self {
            Method::Lane(LaneMethod::Hybrid(policy))
            | Method::HybridKernel(KernelSleep::Steered(policy)) => policy.period(),
            Method::HybridKernel(KernelSleep::Own) => {
                let policy = crate::registry::LINUX.parse::<PolicySpec>();
                policy.ok().and_then(|policy| policy.period())
            }
            _ => None,
        }
    }

    /// True if `text` begins with a method's name. In a list, any other item continues a rule.
    pub fn begins(text: &str) -> bool {
        let name = text.split(':').next().unwrap_or_default();
        let is_hybrid_with_rule = [HYBRID, KERNEL].contains(&name) && text != HYBRID;
        is_hybrid_with_rule || find_named(text).is_some()
    }

    /// True if the thread or the kernel sleeps by a timer before it looks for the completion.
    pub fn sleeps(&self) -> bool {
        matches!(
            self,
            Method::Lane(LaneMethod::Hybrid(_)) | Method::HybridUring | Method::HybridKernel(_)
        )
    }
}

impl From<LaneMethod> for Method {
    fn from(method: LaneMethod) -> Self {
        Method::Lane(method)
    }
}

impl From<PolicySpec> for LaneMethod {
    fn from(policy: PolicySpec) -> Self {
        LaneMethod::Hybrid(policy)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail() {
            detail if detail.is_empty() => f.pad(self.name()),
            detail => f.pad(&format!("{}:{detail}", self.name())),
        }
    }
}

impl fmt::Display for LaneMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Method::Lane(self.clone()).fmt(f)
    }
}

/// A text that names no method.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "understand method `{text}`: expected interrupt, poll, sqpoll, sqpoll-iopoll, hybrid-uring, \
     hybrid-kernel or hybrid:RULE, such as hybrid:min:70%,10ms; {reason}"
)]
pub struct ParseMethodError {
    text: String,
    reason: String,
}

/// The methods that a name alone describes.
const NAMED: [Method; 6] = [
    Method::INTERRUPT,
    Method::POLL,
    Method::SqPoll,
    Method::SqPollIoPoll,
    Method::HybridUring,
    Method::HybridKernel(KernelSleep::Own),
];
const HYBRID: &str = "hybrid";
const KERNEL: &str = "hybrid-kernel";

impl FromStr for Method {
    type Err = ParseMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(method) = find_named(text) {
            return Ok(method.clone());
        }
        let method = match text.split_once(':') {
            Some((HYBRID, rule)) => match rule.parse() {
                Ok(policy) => Ok(Method::Lane(LaneMethod::Hybrid(policy))),
                Err(error) => Err(SpecError::to_string(&error)),
            },
            Some((KERNEL, sleep)) => kernel_sleep(sleep).map(Method::HybridKernel),
            Some((name, _)) if find_named(name).is_some() => {
                Err(format!("{name} takes nothing behind its name"))
            }
            Some((name, _)) => Err(nearest_hint(name)),
            None => Err(nearest_hint(text)),
        };
        method.map_err(|reason| ParseMethodError {
            text: text.to_owned(),
            reason,
        })
    }
}

impl FromStr for LaneMethod {
    type Err = ParseMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse()? {
            Method::Lane(method) => Ok(method),
            _ => Err(ParseMethodError {
                text: text.to_owned(),
                reason: format!("the nearest is {HYBRID}"),
            }),
        }
    }
}

fn find_named(name: &str) -> Option<&'static Method> {
    NAMED.iter().find(|method| method.name() == name)
}

/// Reads `57us` or a rule; refuses sleeps of 0 and those that the kernel cannot hold.
fn kernel_sleep(text: &str) -> Result<KernelSleep, String> {
    if let Ok(policy) = text.parse() {
        return Ok(KernelSleep::Steered(policy));
    }
    let us = text.strip_suffix("us").and_then(|us| us.parse().ok());
    let us = us.filter(|us| (1..=KernelSleep::MAX_US).contains(us));
    us.map(KernelSleep::Fixed).ok_or_else(|| {
        format!(
            "behind hybrid-kernel: stands a sleep of 1us or more (57us), at most {}us, or a rule",
            KernelSleep::MAX_US
        )
    })
}

fn nearest_hint(text: &str) -> String {
    let names = NAMED.iter().map(Method::name).chain([HYBRID]);
    let nearest = names.min_by_key(|name| strsim::levenshtein(name, text));
    format!("the nearest is {}", nearest.unwrap_or(HYBRID))
}

q2c_model::serde_as_text!(Method, PolicySpec);

#[cfg(test)]
mod tests;
