//! A completion method on an interface: engine options, lane method, and kernel setting.

use super::interface::Interface;
use q2c_engine::EngineSpec;
use q2c_model::Bytes;
use q2c_policy::{KernelSleep, LaneMethod, Method};
use q2c_watch::steer::Steering;

/// Abilities of the device and the kernel that decide which methods exist here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// True if io_uring can poll the device (IOPOLL): it has poll queues, and a read succeeded.
    pub polled_requests: bool,
    /// True if `queue/io_poll_delay` exists and the kernel obeys it (4.10 to 5.18 for preadv2).
    pub poll_delay: bool,
    /// True if completions of NVMe commands can be polled for.
    pub polled_commands: bool,
    /// The largest request that the device takes unsplit, bytes; `None` if it is unknown.
    pub unsplit: Option<Bytes>,
}

/// An interface with a method, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodPath {
    /// The interface with the options that the method needs.
    pub interface: Interface,
    /// How the lane finds completions.
    pub waits: LaneMethod,
    /// The sleep for `io_poll_delay`; with `None` the kernel polls without a sleep.
    pub kernel: Option<KernelSleep>,
}

impl MethodPath {
    /// Resolves `method` on `interface` at `depth`. The error says why they do not fit.
    pub fn resolve(
        interface: &Interface,
        method: &Method,
        depth: u16,
        abilities: Abilities,
    ) -> Result<MethodPath, String> {
        let Interface::Engine(engine) = interface else {
            let path = (*method == Method::POLL).then_some(MethodPath {
                interface: Interface::Spdk,
                waits: LaneMethod::Poll,
                kernel: None,
            });
            return path.ok_or_else(|| "spdk polls and knows no other method".to_owned());
        };
        let (method_engine, waits) = engine
            .for_method(method)
            .ok_or_else(|| format!("there is no {method} with {engine}"))?;
        if let Some(reason) = missing_ability(method, &method_engine, abilities) {
            return Err(reason);
        }
        // Interrupts need no second ring on which nothing is polled.
        let asks_device = *method != Method::INTERRUPT && abilities.can_poll_with(&method_engine);
        let method_engine = method_engine.with_path(asks_device);
        match method_engine.refuses(depth, &waits.build(1).remove(0)) {
            Some(reason) => Err(reason),
            None => Ok(MethodPath {
                interface: Interface::Engine(method_engine),
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
    /// True if the path of `engine` to the device can poll here.
    pub(super) fn can_poll_with(self, engine: &EngineSpec) -> bool {
        if engine.needs_character_device() {
            self.polled_commands
        } else {
            self.polled_requests
        }
    }
}

fn missing_ability(method: &Method, engine: &EngineSpec, abilities: Abilities) -> Option<String> {
    match method {
        _ if engine.needs_poll_queues() && !abilities.can_poll_with(engine) => Some(format!(
            "{engine} needs poll queues: the device has none that it can use (see queue/io_poll; for NVMe load the driver \
             with poll_queues=N)"
        )),
        Method::HybridKernel(KernelSleep::Steered(policy)) if abilities.poll_delay => {
            Steering::new(policy).err().map(|unfit| unfit.to_string())
        }
        Method::HybridKernel(_) if !abilities.poll_delay => Some(
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

    fn resolve(on: &str, method: &str, depth: u16, can: Abilities) -> Result<MethodPath, String> {
        MethodPath::resolve(&engine(on), &method.parse().unwrap(), depth, can)
    }

    const QUEUES: Abilities = Abilities {
        polled_requests: true,
        poll_delay: false,
        polled_commands: true,
        unsplit: None,
    };

    /// All polling methods take one path; interrupts take their own.
    #[test]
    fn polling_asks_the_device_where_it_can_be_asked() {
        let none = Abilities::default();
        let rule = "hybrid:min:70%,10ms";
        for (on, method, polled, without) in [
            ("io_uring", "poll", "iopoll", "ring"),
            ("io_uring", rule, "iopoll", "ring"),
            ("io_uring", "hybrid:ehp", "iopoll", "ring"),
            ("io_uring", "interrupt", "ring", "ring"),
            ("io_uring:ring", "poll", "ring", "ring"),
            ("io_uring:ring", rule, "ring", "ring"),
            ("io_uring_cmd", rule, "iopoll", "ring"),
            ("io_uring_cmd:ring", "poll", "ring", "ring"),
            ("pvsync2", "poll", "hipri", "hipri"),
        ] {
            let name = on.split(':').next().unwrap();
            for (abilities, path) in [(QUEUES, polled), (none, without)] {
                let wanted = engine(&format!("{name}:{path}"));
                let interface = resolve(on, method, 1, abilities).unwrap().interface;
                assert_eq!(interface, wanted, "{method} on {on}");
            }
        }
        for on in ["io_uring:iopoll", "io_uring_cmd:iopoll"] {
            for method in ["poll", rule, "interrupt"] {
                let interface = resolve(on, method, 1, QUEUES).unwrap().interface;
                assert_eq!(interface, engine(on), "{method}");
                let refusal = resolve(on, method, 1, none).unwrap_err();
                assert!(refusal.contains("needs poll queues"), "{refusal}");
            }
        }
        let commands = |can| resolve("io_uring_cmd", "poll", 8, can).unwrap().interface;
        assert_eq!(commands(QUEUES), engine("io_uring_cmd:iopoll"));
        assert_eq!(commands(none), engine("io_uring_cmd:ring"));
        let spdk = resolve("spdk", "poll", 8, none).unwrap();
        assert_eq!(spdk.interface, Interface::Spdk);
        let refusal = resolve("io_uring", "hybrid-uring", 1, none).unwrap_err();
        assert!(refusal.contains("poll queues"), "{refusal}");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_its_reason() {
        for (on, method, depth, reason) in [
            ("libaio", "sqpoll", 1, "no sqpoll with libaio"),
            ("pvsync2", "interrupt", 8, "depth 1"),
            ("pvsync2", "hybrid-kernel", 1, "5.18"),
            ("io_uring_cmd", "sqpoll", 1, "no sqpoll with io_uring_cmd"),
            ("io_uring:iopoll,hybrid", "interrupt", 1, "no interrupt"),
            ("spdk", "interrupt", 1, "polls"),
            ("pvsync2", "hybrid:mean:50%,10ms", 1, "no hybrid:mean"),
        ] {
            let refusal = resolve(on, method, depth, QUEUES).unwrap_err();
            assert!(refusal.contains(reason), "{on} {method}: {refusal}");
        }
    }
}
