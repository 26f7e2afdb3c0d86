//! The path of polled requests on a ring: the device is polled (IOPOLL), or the lane looks at the
//! ring while the device interrupts.

use super::{EngineSpec, RingKind};
use q2c_sys::RingOptions;

impl RingKind {
    /// The engine that polls the device if `iopoll` is set, else looks at the ring.
    const fn on_path(self, iopoll: bool) -> EngineSpec {
        match self {
            RingKind::File => EngineSpec::IoUring(RingOptions {
                iopoll,
                hybrid: false,
                sqpoll: None,
                taskrun: None,
            }),
            RingKind::Commands => EngineSpec::IoUringCmd { iopoll },
        }
    }

    /// The engine that looks at the ring.
    pub(super) fn by_ring(self) -> &'static EngineSpec {
        static FILE: EngineSpec = EngineSpec::RING;
        static COMMANDS: EngineSpec = RingKind::Commands.on_path(false);
        match self {
            RingKind::File => &FILE,
            RingKind::Commands => &COMMANDS,
        }
    }
}

impl EngineSpec {
    /// The engine with the path that the device decides: it polls the device if `iopoll` is set,
    /// else it looks at the ring. An engine whose path was chosen by its name, or that has only
    /// one, stays as it is.
    #[must_use]
    pub fn settled(self, iopoll: bool) -> Self {
        match self {
            EngineSpec::ByDevice(kind) => kind.on_path(iopoll),
            EngineSpec::Fault { kind, nth, inner } => EngineSpec::Fault {
                kind,
                nth,
                inner: Box::new(inner.settled(iopoll)),
            },
            other => other,
        }
    }

    /// Whether the engine needs a device that can be polled (IOPOLL), in its calls or by a helper.
    pub fn needs_poll_queues(&self) -> bool {
        match self.plain() {
            EngineSpec::IoUring(options) => options.iopoll,
            EngineSpec::IoUringCmd { iopoll } => *iopoll,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> EngineSpec {
        text.parse().expect("a known engine")
    }

    #[test]
    fn the_device_decides_where_no_path_was_chosen() {
        for (text, with_queues, without) in [
            ("io_uring", "io_uring:iopoll", "io_uring:ring"),
            ("io_uring_cmd", "io_uring_cmd:iopoll", "io_uring_cmd:ring"),
            (
                "fault:eio@9:io_uring",
                "fault:eio@9:io_uring:iopoll",
                "fault:eio@9:io_uring:ring",
            ),
        ] {
            assert_ne!(
                spec(text).settled(true),
                spec(text).settled(false),
                "{text}"
            );
            assert_eq!(spec(text).settled(true).to_string(), with_queues);
            assert_eq!(spec(text).settled(false).to_string(), without);
        }
        for text in [
            "io_uring:ring",
            "io_uring:iopoll",
            "io_uring:taskrun=coop",
            "io_uring_cmd:ring",
            "io_uring_cmd:iopoll",
            "libaio",
            "fault:eio@9:null",
        ] {
            assert_eq!(
                spec(text).settled(true),
                spec(text).settled(false),
                "{text}"
            );
            assert_eq!(spec(text).settled(true).to_string(), text);
            assert_eq!(spec(text).settled(false).to_string(), text);
        }
    }

    #[test]
    fn engines_that_poll_the_device_need_its_queues() {
        for text in [
            "io_uring:iopoll",
            "io_uring:iopoll,hybrid",
            "io_uring:iopoll,sqpoll",
            "io_uring_cmd:iopoll",
            "fault:eio@9:io_uring:iopoll",
        ] {
            assert!(spec(text).needs_poll_queues(), "{text}");
        }
        for text in [
            "io_uring",
            "io_uring:ring",
            "io_uring:sqpoll",
            "libaio",
            "pvsync2:hipri",
        ] {
            assert!(!spec(text).needs_poll_queues(), "{text}");
        }
    }
}
