//! Methods from text.

use super::{KernelSleep, LaneMethod, Method};
use crate::SpecError;
use std::fmt;
use std::str::FromStr;

/// A text that is no method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMethodError {
    text: String,
    why: MethodErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MethodErrorKind {
    /// No method has this name; the one that is spelled most alike.
    Name(&'static str),
    /// What stands behind `hybrid:` is no rule.
    Rule(Box<SpecError>),
    /// The method takes nothing behind its name.
    Bare(&'static str),
    /// What stands behind `hybrid-kernel:` is neither a sleep nor a rule.
    Sleep,
}

const BARE: [Method; 6] = [
    Method::INTERRUPT,
    Method::POLL,
    Method::SqPoll,
    Method::SqPollIoPoll,
    Method::HybridUring,
    Method::HybridKernel(KernelSleep::Own),
];
const HYBRID: &str = "hybrid";
const KERNEL: &str = "hybrid-kernel";

impl Method {
    /// Whether a text begins a method's name; other commas of a list are parts of rules.
    #[must_use]
    pub fn begins(text: &str) -> bool {
        let name = text.split(':').next().unwrap_or_default();
        let takes_more = [HYBRID, KERNEL].contains(&name) && text != HYBRID;
        takes_more || bare(text).is_some()
    }

    /// From a name and what stands behind it, as results have them apart.
    ///
    /// # Errors
    /// When they are no method.
    pub(crate) fn from_name(name: &str, detail: &str) -> Result<Self, ParseMethodError> {
        match detail {
            "" => name.parse(),
            detail => format!("{name}:{detail}").parse(),
        }
    }
}

impl FromStr for Method {
    type Err = ParseMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |why| ParseMethodError {
            text: text.to_owned(),
            why,
        };
        if let Some(method) = bare(text) {
            return Ok(method.clone());
        }
        match text.split_once(':') {
            Some((HYBRID, rule)) => match rule.parse() {
                Ok(policy) => Ok(Method::Lane(LaneMethod::Hybrid(policy))),
                Err(error) => Err(fail(MethodErrorKind::Rule(Box::new(error)))),
            },
            Some((KERNEL, sleep)) => match kernel_sleep(sleep) {
                Some(sleep) => Ok(Method::HybridKernel(sleep)),
                None => Err(fail(MethodErrorKind::Sleep)),
            },
            Some((name, _)) => Err(fail(match bare(name) {
                Some(method) => MethodErrorKind::Bare(method.name()),
                None => MethodErrorKind::Name(nearest(name)),
            })),
            None => Err(fail(MethodErrorKind::Name(nearest(text)))),
        }
    }
}

impl FromStr for LaneMethod {
    type Err = ParseMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse()? {
            Method::Lane(method) => Ok(method),
            _ => Err(ParseMethodError {
                text: text.to_owned(),
                why: MethodErrorKind::Name(HYBRID),
            }),
        }
    }
}

fn bare(name: &str) -> Option<&'static Method> {
    BARE.iter().find(|method| method.name() == name)
}

/// `57us`, or a rule that steers; no sleep of no time, nor one that the kernel cannot hold.
fn kernel_sleep(text: &str) -> Option<KernelSleep> {
    if let Ok(policy) = text.parse() {
        return Some(KernelSleep::Steered(policy));
    }
    let us: u32 = text.strip_suffix("us")?.parse().ok()?;
    (1..=KernelSleep::LONGEST_US)
        .contains(&us)
        .then_some(KernelSleep::Fixed(us))
}

fn nearest(text: &str) -> &'static str {
    let names = BARE.iter().map(Method::name).chain([HYBRID]);
    names
        .min_by_key(|name| strsim::levenshtein(name, text))
        .unwrap_or(HYBRID)
}

impl fmt::Display for ParseMethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        write!(
            f,
            "understand method `{text}`: expected interrupt, poll, sqpoll, sqpoll-iopoll, \
             hybrid-uring, hybrid-kernel or hybrid:RULE, such as hybrid:min:70%,10ms"
        )?;
        match &self.why {
            MethodErrorKind::Name(name) => write!(f, "; the nearest is {name}"),
            MethodErrorKind::Rule(error) => write!(f, "; {error}"),
            MethodErrorKind::Bare(name) => write!(f, "; {name} takes nothing behind its name"),
            MethodErrorKind::Sleep => write!(
                f,
                "; behind hybrid-kernel: stands a sleep of 1us or more (57us), at most {}us, or a rule",
                KernelSleep::LONGEST_US
            ),
        }
    }
}

impl std::error::Error for ParseMethodError {}
