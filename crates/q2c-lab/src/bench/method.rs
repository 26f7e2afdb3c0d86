//! Completion methods as an axis, and what each means on an interface.

use super::interface::Interface;
use q2c_engine::{EngineSpec, Wait};
use q2c_policy::PolicySpec;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// How completions are waited for.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// By interrupts.
    Interrupt,
    /// By polling: the device where it has poll queues, else the memory in which completions appear.
    Poll,
    /// io_uring: a kernel thread per job submits.
    SqPoll,
    /// And asks the device.
    SqPollIoPoll,
    /// io_uring: the kernel sleeps, then asks the device (Linux 6.13).
    HybridUring,
    /// preadv2 with RWF_HIPRI on a device whose `io_poll_delay` is 0: the kernel sleeps, then polls (Linux 4.10 to 5.18).
    HybridKernel,
    /// By a sleep rule in user space, then polling.
    Hybrid(PolicySpec),
}

/// A text that is no method.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "understand method `{0}`: there are interrupt, poll, sqpoll, sqpoll-iopoll, hybrid-uring, hybrid-kernel and hybrid:RULE, such as \
     hybrid:min:70%,10ms{1}"
)]
pub struct ParseMethodError(String, String);

const PLAIN: [(&str, Method); 6] = [
    ("interrupt", Method::Interrupt),
    ("poll", Method::Poll),
    ("sqpoll", Method::SqPoll),
    ("sqpoll-iopoll", Method::SqPollIoPoll),
    ("hybrid-uring", Method::HybridUring),
    ("hybrid-kernel", Method::HybridKernel),
];

impl Method {
    /// Whether a text begins a method's name: a comma before it separates methods, any other is part of a rule.
    #[must_use]
    pub fn begins(text: &str) -> bool {
        PLAIN.iter().any(|(name, _)| *name == text) || text.starts_with("hybrid:")
    }
}

impl FromStr for Method {
    type Err = ParseMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, method)) = PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(method.clone());
        }
        let wrong = |why: String| ParseMethodError(text.to_owned(), why);
        let rule = text.strip_prefix("hybrid:");
        let rule = rule.ok_or_else(|| wrong(String::new()))?;
        let policy = rule.parse::<PolicySpec>();
        policy
            .map(Method::Hybrid)
            .map_err(|e| wrong(format!("; {e}")))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Hybrid(policy) => write!(f, "hybrid:{policy}"),
            plain => {
                let name = PLAIN.iter().find(|(_, method)| method == plain);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

/// What decides whether a method exists here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// The device has poll queues: `queue/io_poll` is 1. `None`: there is no device, or it does not tell.
    pub poll_queues: Option<bool>,
    /// `queue/io_poll_delay` exists and the kernel heeds it (4.10 to 5.18 for preadv2).
    pub poll_delay: bool,
    /// NVMe commands can be polled for.
    pub polled_commands: bool,
}

/// An interface with a method, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// With the method's options.
    pub interface: Interface,
    /// Waiting in the lane.
    pub waits: Waits,
    /// `io_poll_delay` is to be 0 while it runs.
    pub kernel_sleeps: bool,
}

/// [`Wait`] before it is built.
#[derive(Clone, Debug, PartialEq)]
pub enum Waits {
    /// [`Wait::Interrupt`].
    Interrupt,
    /// [`Wait::Poll`].
    Poll,
    /// [`Wait::Hybrid`].
    Hybrid(PolicySpec),
}

impl Way {
    /// `interface` by `method` at `depth`.
    ///
    /// # Errors
    /// Why that does not exist, in words.
    pub fn of(
        interface: &Interface,
        method: &Method,
        depth: u16,
        can: Abilities,
    ) -> Result<Way, String> {
        match interface {
            Interface::Engine(engine) => Way::on_engine(engine, method, depth, can),
            Interface::Spdk if *method == Method::Poll => Ok(Way {
                interface: Interface::Spdk,
                waits: Waits::Poll,
                kernel_sleeps: false,
            }),
            Interface::Spdk => Err("spdk polls and knows no other method".to_owned()),
        }
    }

    fn on_engine(
        engine: &EngineSpec,
        method: &Method,
        depth: u16,
        can: Abilities,
    ) -> Result<Way, String> {
        let way = match engine {
            EngineSpec::IoUring(_) => on_ring(engine, method, can)?,
            EngineSpec::Pvsync2(_) => on_call(engine, method, can)?,
            EngineSpec::IoUringCmd { .. } if *method == Method::Poll && can.polled_commands => {
                Way::new(&EngineSpec::IoUringCmd { iopoll: true }, Waits::Poll)
            }
            _ => simple(engine, method)?,
        };
        let wait = match &way.waits {
            Waits::Interrupt => Wait::Interrupt,
            Waits::Poll => Wait::Poll,
            Waits::Hybrid(policy) => Wait::Hybrid(policy.build(1).remove(0)),
        };
        let refused = way.interface.engine();
        match refused.and_then(|engine| engine.refuses(depth, &wait)) {
            Some(why) => Err(why),
            None => Ok(way),
        }
    }

    fn new(engine: &EngineSpec, waits: Waits) -> Way {
        Way {
            interface: engine.clone().into(),
            waits,
            kernel_sleeps: false,
        }
    }
}

fn none(engine: &EngineSpec, method: &Method) -> String {
    format!("there is no {method} with {engine}")
}

/// Interrupts, looking, and sleep rules: what every interface with completions in memory can do.
fn simple(engine: &EngineSpec, method: &Method) -> Result<Way, String> {
    Ok(match method {
        Method::Interrupt => Way::new(engine, Waits::Interrupt),
        Method::Poll => Way::new(engine, Waits::Poll),
        Method::Hybrid(policy) => Way::new(engine, Waits::Hybrid(policy.clone())),
        _ => return Err(none(engine, method)),
    })
}

fn on_ring(engine: &EngineSpec, method: &Method, can: Abilities) -> Result<Way, String> {
    let with = |options: &str| -> EngineSpec {
        let text = format!("io_uring:{options}");
        text.parse().expect("options of io_uring")
    };
    let polled = can.poll_queues == Some(true);
    let needs_queues = || {
        format!(
            "{method} needs poll queues: the device has none (its queue/io_poll is not 1; for NVMe load the driver with \
             poll_queues=N)"
        )
    };
    match method {
        Method::Poll if polled && *engine == EngineSpec::IO_URING => {
            Ok(Way::new(&with("iopoll"), Waits::Poll))
        }
        Method::SqPoll => Ok(Way::new(&with("sqpoll"), Waits::Poll)),
        Method::SqPollIoPoll | Method::HybridUring if !polled => Err(needs_queues()),
        Method::SqPollIoPoll => Ok(Way::new(&with("sqpoll,iopoll"), Waits::Poll)),
        Method::HybridUring => Ok(Way::new(&with("iopoll,hybrid"), Waits::Poll)),
        method => simple(engine, method),
    }
}

fn on_call(engine: &EngineSpec, method: &Method, can: Abilities) -> Result<Way, String> {
    let hipri = || {
        let EngineSpec::Pvsync2(mut flags) = *engine else {
            return engine.clone();
        };
        flags.hipri = true;
        EngineSpec::Pvsync2(flags)
    };
    match method {
        Method::Interrupt => Ok(Way::new(engine, Waits::Interrupt)),
        Method::Poll => Ok(Way::new(&hipri(), Waits::Poll)),
        Method::HybridKernel if can.poll_delay => Ok(Way {
            kernel_sleeps: true,
            ..Way::new(&hipri(), Waits::Poll)
        }),
        Method::HybridKernel => Err(
            "hybrid-kernel needs Linux 4.10 to 5.18 and a device with poll queues and queue/io_poll_delay: later kernels \
             do not poll for preadv2"
                .to_owned(),
        ),
        _ => Err(none(engine, method)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(text: &str) -> Interface {
        text.parse().unwrap()
    }

    fn way(on: &str, method: &str, depth: u16, can: Abilities) -> Result<Way, String> {
        Way::of(&engine(on), &method.parse().unwrap(), depth, can)
    }

    const QUEUES: Abilities = Abilities {
        poll_queues: Some(true),
        poll_delay: false,
        polled_commands: true,
    };

    #[test]
    fn methods_round_trip() {
        let rule = "hybrid:min:ratio=70%,period=10ms";
        for text in ["interrupt", "sqpoll-iopoll", "hybrid-kernel", rule] {
            assert_eq!(text.parse::<Method>().unwrap().to_string(), text);
        }
        let error = "hybrid:median".parse::<Method>().unwrap_err().to_string();
        assert!(
            error.contains("median") && error.contains("sqpoll"),
            "{error}"
        );
    }

    #[test]
    fn polling_asks_the_device_where_it_can_be_asked() {
        let none = Abilities::default();
        assert_eq!(
            way("io_uring", "poll", 1, QUEUES).unwrap().interface,
            engine("io_uring:iopoll")
        );
        assert_eq!(
            way("io_uring", "poll", 1, none).unwrap().interface,
            engine("io_uring")
        );
        assert_eq!(
            way("pvsync2", "poll", 1, none).unwrap().interface,
            engine("pvsync2:hipri")
        );
        let commands = |can| way("io_uring_cmd", "poll", 8, can).unwrap().interface;
        assert_eq!(commands(QUEUES), engine("io_uring_cmd:iopoll"));
        assert_eq!(commands(none), engine("io_uring_cmd"));
        assert_eq!(
            way("spdk", "poll", 8, none).unwrap().interface,
            Interface::Spdk
        );
        let why = way("io_uring", "hybrid-uring", 1, none).unwrap_err();
        assert!(why.contains("poll queues"), "{why}");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_its_reason() {
        for (on, method, depth, reason) in [
            ("libaio", "sqpoll", 1, "no sqpoll with libaio"),
            ("pvsync2", "interrupt", 8, "depth 1"),
            ("pvsync2", "hybrid-kernel", 1, "5.18"),
            ("io_uring_cmd", "sqpoll", 1, "no sqpoll with io_uring_cmd"),
            ("io_uring_cmd:iopoll", "interrupt", 1, "no interrupt"),
            ("spdk", "interrupt", 1, "polls"),
            ("pvsync2", "hybrid:mean:50%,10ms", 1, "no hybrid:mean"),
        ] {
            let why = way(on, method, depth, QUEUES).unwrap_err();
            assert!(why.contains(reason), "{on} {method}: {why}");
        }
    }
}
