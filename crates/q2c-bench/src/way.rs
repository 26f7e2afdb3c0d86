//! Resolves a completion method on an interface: the engine's options, the lane's method, and the
//! kernel's setting.

use super::interface::Interface;
use q2c_engine::EngineSpec;
use q2c_policy::{KernelSleep, LaneMethod, Method};

/// Abilities of the device and the kernel that decide which methods exist here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether the device has poll queues: `queue/io_poll` is 1. `None` when there is no device, or
    /// it has no such file.
    pub poll_queues: Option<bool>,
    /// Whether `queue/io_poll_delay` exists and the kernel obeys it (4.10 to 5.18 for preadv2).
    pub poll_delay: bool,
    /// Whether completions of NVMe commands can be polled for.
    pub polled_commands: bool,
}

/// An interface with a method, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The interface with the options that the method needs.
    pub interface: Interface,
    /// How the lane finds completions.
    pub waits: LaneMethod,
    /// The kernel's own sleep before it polls, for `io_poll_delay`. Without one the kernel is set
    /// to poll without a sleep.
    pub kernel: Option<KernelSleep>,
}

impl Way {
    /// Resolves `method` on `interface` at `depth`.
    ///
    /// # Errors
    /// The combination does not exist here; the text says why.
    pub fn of(
        interface: &Interface,
        method: &Method,
        depth: u16,
        can: Abilities,
    ) -> Result<Way, String> {
        match interface {
            Interface::Engine(engine) => Way::on_engine(engine, method, depth, can),
            Interface::Spdk if *method == Method::POLL => Ok(Way {
                interface: Interface::Spdk,
                waits: LaneMethod::Poll,
                kernel: None,
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
        let found = engine.for_method(method);
        let (carrier, waits) =
            found.ok_or_else(|| format!("there is no {method} with {engine}"))?;
        if let Some(why) = absent(method, can) {
            return Err(why);
        }
        let carrier = match *method == Method::POLL && can.poll_with(&carrier) {
            true => carrier.asking_device(),
            false => carrier,
        };
        match carrier.refuses(depth, &waits.build(1).remove(0)) {
            Some(why) => Err(why),
            None => Ok(Way {
                interface: carrier.into(),
                waits,
                kernel: match method {
                    Method::HybridKernel(sleep) => Some(sleep.clone()),
                    _ => None,
                },
            }),
        }
    }
}

impl Abilities {
    /// Whether the kernel can poll the device for an engine with IOPOLL.
    fn poll_with(self, engine: &EngineSpec) -> bool {
        match engine.needs_character_device() {
            true => self.polled_commands,
            false => self.poll_queues == Some(true),
        }
    }
}

/// Why the device or the kernel does not have `method`; `None` when it has.
fn absent(method: &Method, can: Abilities) -> Option<String> {
    match method {
        Method::SqPollIoPoll | Method::HybridUring if can.poll_queues != Some(true) => {
            Some(format!(
                "{method} needs poll queues: the device has none (its queue/io_poll is not 1; for NVMe load the driver with \
                 poll_queues=N)"
            ))
        }
        Method::HybridKernel(KernelSleep::Steered(_)) => Some(
            "bench steers no kernel: run `q2c poll steer` beside `--method hybrid-kernel`".to_owned(),
        ),
        Method::HybridKernel(_) if !can.poll_delay => Some(
            "hybrid-kernel needs Linux 4.10 to 5.18 and a device with poll queues and queue/io_poll_delay: later kernels \
             do not poll for preadv2"
                .to_owned(),
        ),
        _ => None,
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
