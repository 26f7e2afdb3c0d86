//! Methods from text.

use super::{KernelSleep, LaneMethod, Method};
use crate::SpecError;
use std::str::FromStr;
use thiserror::Error;

/// A text that is no method.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "understand method `{text}`: expected interrupt, poll, sqpoll, sqpoll-iopoll, hybrid-uring, \
     hybrid-kernel or hybrid:RULE, such as hybrid:min:70%,10ms; {reason}"
)]
pub struct ParseMethodError {
    text: String,
    reason: String,
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
    pub fn begins(text: &str) -> bool {
        let name = text.split(':').next().unwrap_or_default();
        let takes_more = [HYBRID, KERNEL].contains(&name) && text != HYBRID;
        takes_more || bare(text).is_some()
    }
}

impl FromStr for Method {
    type Err = ParseMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(method) = bare(text) {
            return Ok(method.clone());
        }
        let method = match text.split_once(':') {
            Some((HYBRID, rule)) => match rule.parse() {
                Ok(policy) => Ok(Method::Lane(LaneMethod::Hybrid(policy))),
                Err(error) => Err(SpecError::to_string(&error)),
            },
            Some((KERNEL, sleep)) => kernel_sleep(sleep).map(Method::HybridKernel),
            Some((name, _)) if bare(name).is_some() => {
                Err(format!("{name} takes nothing behind its name"))
            }
            Some((name, _)) => Err(nearest(name)),
            None => Err(nearest(text)),
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

fn bare(name: &str) -> Option<&'static Method> {
    BARE.iter().find(|method| method.name() == name)
}

/// `57us`, or a rule that steers; no sleep of no time, nor one that the kernel cannot hold.
fn kernel_sleep(text: &str) -> Result<KernelSleep, String> {
    if let Ok(policy) = text.parse() {
        return Ok(KernelSleep::Steered(policy));
    }
    let us = text.strip_suffix("us").and_then(|us| us.parse().ok());
    let us = us.filter(|us| (1..=KernelSleep::LONGEST_US).contains(us));
    us.map(KernelSleep::Fixed).ok_or_else(|| {
        format!(
            "behind hybrid-kernel: stands a sleep of 1us or more (57us), at most {}us, or a rule",
            KernelSleep::LONGEST_US
        )
    })
}

fn nearest(text: &str) -> String {
    let names = BARE.iter().map(Method::name).chain([HYBRID]);
    let nearest = names.min_by_key(|name| strsim::levenshtein(name, text));
    format!("the nearest is {}", nearest.unwrap_or(HYBRID))
}
