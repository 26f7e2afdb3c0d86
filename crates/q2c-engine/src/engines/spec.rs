//! Engines by name: `io_uring`, `null`, `sim:50us`, `fault:eio@1000:io_uring`.

use super::{
    fault::Fault, fault::FaultKind, null::Null, sim::Service, sim::Sim, sim::SimSpec, uring::Uring,
};
use crate::engine::{Engine, EngineError};
use q2c_model::{Nanos, parse_duration};
use std::fmt;
use std::fs::File;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// One line of the registry.
pub struct EngineKind {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    parse: fn(&str) -> Result<EngineSpec, String>,
}

/// Every engine. Adding one is its file, a variant of [`EngineSpec`] and a line here.
pub const ENGINES: &[EngineKind] = &[
    EngineKind {
        name: "io_uring",
        help: "asynchronous I/O by io_uring",
        parse: |args| plain(args, EngineSpec::IoUring),
    },
    EngineKind {
        name: "null",
        help: "completes at once: the harness's own cost",
        parse: |args| plain(args, EngineSpec::Null),
    },
    EngineKind {
        name: "sim",
        help: "a device of known truth: sim:50us, sim:lognormal=50us/0.3, with ,servers=N",
        parse: parse_sim,
    },
    EngineKind {
        name: "fault",
        help: "spoils the Nth request of another engine: fault:eio@N:ENGINE, short@N, late=1ms@N",
        parse: parse_fault,
    },
];

/// An engine and its settings, ready to be opened in each lane's thread.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineSpec {
    /// [`Uring`].
    IoUring,
    /// [`Null`].
    Null,
    /// [`Sim`].
    Sim(SimSpec),
    /// [`Fault`] around another.
    Fault {
        /// What goes wrong.
        kind: FaultKind,
        /// At which completion, from 1.
        nth: u64,
        /// With whose requests.
        inner: Box<EngineSpec>,
    },
}

/// What the I/O goes to.
#[derive(Clone, Debug)]
pub enum Medium {
    /// A file or block device, opened for direct I/O.
    File(Arc<File>),
    /// Nothing: engines that simulate.
    None,
}

/// A text that names no engine.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("understand engine `{text}`: {problem}; engines are {known}", known = known())]
pub struct ParseEngineError {
    /// The text as given.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

impl EngineSpec {
    /// Opens the engine in the calling thread, for `slots` requests of up to `size` bytes in flight.
    ///
    /// # Errors
    /// When the engine needs a file and there is none, or the kernel refuses.
    pub fn open(
        &self,
        medium: &Medium,
        slots: usize,
        size: usize,
        seed: u64,
    ) -> Result<Box<dyn Engine>, EngineError> {
        Ok(match self {
            EngineSpec::IoUring => match medium {
                Medium::File(file) => Box::new(Uring::open(file, slots, size)?),
                Medium::None => return Err(EngineError::NoTarget("io_uring")),
            },
            EngineSpec::Null => Box::new(Null::open(slots)),
            EngineSpec::Sim(spec) => Box::new(Sim::open(spec, slots, seed)),
            EngineSpec::Fault { kind, nth, inner } => Box::new(Fault::open(
                inner.open(medium, slots, size, seed)?,
                *kind,
                *nth,
            )),
        })
    }

    /// Whether it does I/O on a file or device.
    #[must_use]
    pub fn needs_file(&self) -> bool {
        match self {
            EngineSpec::IoUring => true,
            EngineSpec::Null | EngineSpec::Sim(_) => false,
            EngineSpec::Fault { inner, .. } => inner.needs_file(),
        }
    }
}

impl fmt::Display for EngineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineSpec::IoUring => f.write_str("io_uring"),
            EngineSpec::Null => f.write_str("null"),
            EngineSpec::Sim(SimSpec { service, servers }) => {
                match service {
                    Service::Constant(time) => write!(f, "sim:{}ns", time.0)?,
                    Service::Lognormal { median, sigma } => {
                        write!(f, "sim:lognormal={}ns/{sigma}", median.0)?
                    }
                    Service::List(times) => write!(f, "sim:list of {}", times.len())?,
                }
                write!(f, ",servers={servers}")
            }
            EngineSpec::Fault { kind, nth, inner } => match kind {
                FaultKind::Eio => write!(f, "fault:eio@{nth}:{inner}"),
                FaultKind::Short => write!(f, "fault:short@{nth}:{inner}"),
                FaultKind::Late(by) => write!(f, "fault:late={}ns@{nth}:{inner}", by.0),
            },
        }
    }
}

impl FromStr for EngineSpec {
    type Err = ParseEngineError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem| ParseEngineError {
            text: text.to_owned(),
            problem,
        };
        let (name, args) = text.split_once(':').unwrap_or((text, ""));
        let kind = ENGINES.iter().find(|kind| kind.name == name);
        let kind = kind.ok_or_else(|| wrong(format!("there is no `{name}`")))?;
        (kind.parse)(args).map_err(wrong)
    }
}

fn known() -> String {
    ENGINES
        .iter()
        .map(|kind| kind.name)
        .collect::<Vec<_>>()
        .join(", ")
}

fn plain(args: &str, spec: EngineSpec) -> Result<EngineSpec, String> {
    if args.is_empty() {
        Ok(spec)
    } else {
        Err(format!("it takes no arguments, found `{args}`"))
    }
}

fn parse_sim(args: &str) -> Result<EngineSpec, String> {
    let (service, servers) = args.split_once(",servers=").unwrap_or((args, "1"));
    let servers = servers.parse().ok().filter(|&n| n > 0);
    let servers = servers.ok_or("servers must be a whole number above 0")?;
    let service = match service.strip_prefix("lognormal=") {
        Some(shape) => parse_lognormal(shape)?,
        None => Service::Constant(time(service)?),
    };
    Ok(EngineSpec::Sim(SimSpec { service, servers }))
}

fn parse_lognormal(shape: &str) -> Result<Service, String> {
    let (median, sigma) = shape
        .split_once('/')
        .ok_or("expected lognormal=MEDIAN/SIGMA")?;
    let sigma: Option<f64> = sigma.parse().ok().filter(|s: &f64| (0.0..=5.0).contains(s));
    Ok(Service::Lognormal {
        median: time(median)?,
        sigma: sigma.ok_or("sigma must lie between 0 and 5")?,
    })
}

fn time(text: &str) -> Result<Nanos, String> {
    parse_duration(text).map_err(|e| e.to_string())
}

fn parse_fault(args: &str) -> Result<EngineSpec, String> {
    const SHAPE: &str = "expected KIND@N:ENGINE with KIND eio, short or late=DURATION";
    let (fault, inner) = args.split_once(':').ok_or(SHAPE)?;
    let (kind, nth) = fault.split_once('@').ok_or(SHAPE)?;
    let nth = nth
        .parse()
        .ok()
        .filter(|&n| n > 0)
        .ok_or("N counts from 1")?;
    let kind = match kind.split_once('=') {
        None if kind == "eio" => FaultKind::Eio,
        None if kind == "short" => FaultKind::Short,
        Some(("late", by)) => FaultKind::Late(time(by)?),
        _ => return Err(SHAPE.to_owned()),
    };
    let inner = inner.parse().map_err(|e: ParseEngineError| e.to_string())?;
    Ok(EngineSpec::Fault {
        kind,
        nth,
        inner: Box::new(inner),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for text in [
            "io_uring",
            "null",
            "sim:50000ns,servers=2",
            "sim:lognormal=50000ns/0.3,servers=1",
            "fault:eio@7:io_uring",
            "fault:late=1000000ns@2:sim:1ns,servers=1",
        ] {
            assert_eq!(text.parse::<EngineSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_names_say_what_exists() {
        for text in [
            "uring",
            "null:1",
            "sim:fast",
            "sim:50",
            "sim:5us,servers=0",
            "fault:eio:null",
            "fault:eio@0:null",
        ] {
            let error = text.parse::<EngineSpec>().unwrap_err().to_string();
            assert!(
                error.contains("engines are io_uring, null, sim, fault"),
                "{error}"
            );
        }
    }
}
