//! How an engine waits and polls: the options that a method needs; the path of polled requests (the
//! device is polled, or the lane looks at the ring while the device interrupts); and the
//! combinations that an engine cannot do, with the reason.

use super::{EngineSpec, RingKind};
use q2c_policy::{LaneMethod, Method, Wait};
use q2c_service::SimInterface;
use q2c_sys::{RingOptions, SqPoll};

impl RingKind {
    /// The engine that polls the device if `iopoll` is set, and else looks at the ring.
    pub(super) const fn engine(self, iopoll: bool) -> EngineSpec {
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
    pub(super) fn ring_engine(self) -> &'static EngineSpec {
        static FILE: EngineSpec = EngineSpec::RING;
        static COMMANDS: EngineSpec = RingKind::Commands.engine(false);
        match self {
            RingKind::File => &FILE,
            RingKind::Commands => &COMMANDS,
        }
    }
}

impl EngineSpec {
    /// The engine with the options that `method` needs, and the method of the lane that drives it.
    /// `None` if the engine does not have the method. The device and the kernel may still lack it.
    pub fn for_method(&self, method: &Method) -> Option<(EngineSpec, LaneMethod)> {
        match self {
            EngineSpec::ByDevice(RingKind::File) | EngineSpec::IoUring(_) => {
                match ring_options(method) {
                    Some(options) => Some((EngineSpec::IoUring(options), LaneMethod::Poll)),
                    None => self.with_lane_method(method),
                }
            }
            EngineSpec::Pvsync2(flags) => match method {
                &Method::POLL | Method::HybridKernel(_) => {
                    let mut flags = *flags;
                    flags.hipri = true;
                    Some((EngineSpec::Pvsync2(flags), LaneMethod::Poll))
                }
                &Method::INTERRUPT => self.with_lane_method(method),
                _ => None,
            },
            _ => self.with_lane_method(method),
        }
    }

    /// The engine as it is: interrupts, polling of memory and sleep rules need no engine options.
    fn with_lane_method(&self, method: &Method) -> Option<(EngineSpec, LaneMethod)> {
        Some((self.clone(), method.lane()?.clone()))
    }

    /// True if the kernel polls within the call that does the I/O (RWF_HIPRI), after a sleep if
    /// `queue/io_poll_delay` sets one.
    pub fn polls_in_call(&self) -> bool {
        matches!(self.plain(), EngineSpec::Pvsync2(flags) if flags.hipri)
    }

    /// The reason why the engine cannot keep a schedule of submissions; `None` if it can. Only an
    /// engine that submits without waiting can.
    pub fn keeps_no_schedule(&self) -> Option<&'static str> {
        match self.plain() {
            EngineSpec::Pvsync2(_) => Some("it waits for each request in its call"),
            EngineSpec::Sim(spec) => match spec.interface {
                Some(SimInterface::Pvsync2) => Some("it waits for each request in its call"),
                Some(SimInterface::Spdk) => Some("it has no interrupts to wait for"),
                _ => None,
            },
            EngineSpec::IoUringCmd { .. } => Some("it sends commands past the block layer"),
            EngineSpec::IoUring(options) if options.iopoll => {
                Some("it polls in its calls, which keeps no schedule")
            }
            _ => None,
        }
    }

    /// True if a submission may put the thread to sleep: kernel AIO waits if the block layer has no
    /// free request.
    pub fn may_sleep_in_submission(&self) -> bool {
        matches!(self.plain(), EngineSpec::Libaio(_))
    }

    /// True if the engine can discard blocks. Kernel AIO has no discards; they would fail.
    pub fn has_discards(&self) -> bool {
        !matches!(self.plain(), EngineSpec::Libaio(_))
    }

    /// The engine after the device has decided the path: it polls the device if `iopoll` is set,
    /// else it looks at the ring. An engine that has only one path, or whose path its name sets,
    /// stays as it is.
    #[must_use]
    pub fn with_path(self, iopoll: bool) -> Self {
        match self {
            EngineSpec::ByDevice(kind) => kind.engine(iopoll),
            EngineSpec::Fault { kind, nth, inner } => EngineSpec::Fault {
                kind,
                nth,
                inner: Box::new(inner.with_path(iopoll)),
            },
            other => other,
        }
    }

    /// True if the engine needs a device that can be polled (IOPOLL), in its calls or by a helper.
    pub fn needs_poll_queues(&self) -> bool {
        match self.plain() {
            EngineSpec::IoUring(options) => options.iopoll,
            EngineSpec::IoUringCmd { iopoll } => *iopoll,
            _ => false,
        }
    }

    /// The reason why a lane of `depth` on this engine cannot wait in this way, with a way out;
    /// `None` if it can. Features that the machine or the kernel lacks show only when the engine is
    /// opened, or in the results.
    #[must_use]
    pub fn refuses(&self, depth: u16, wait: &Wait) -> Option<String> {
        let reason = match self.plain() {
            EngineSpec::Pvsync2(flags) => pvsync2_refusal(flags.hipri, depth, wait),
            EngineSpec::IoUring(ring) if ring.polls_in_call() && ring.hybrid => {
                hybrid_ring_refusal(wait)
            }
            EngineSpec::Sim(spec) => match (spec.interface, wait) {
                (Some(SimInterface::Pvsync2), _) => {
                    pvsync2_refusal(matches!(wait, Wait::Poll), depth, wait)
                }
                (Some(SimInterface::Spdk), Wait::Interrupt) => Some("spdk has no interrupts: poll"),
                _ => None,
            },
            _ => None,
        };
        reason.map(str::to_owned)
    }
}

/// The options of a ring for a method that only rings have; `None` for all other methods.
fn ring_options(method: &Method) -> Option<RingOptions> {
    let sqpoll = Some(SqPoll::default());
    let options = RingOptions::default();
    match method {
        Method::SqPoll => Some(RingOptions { sqpoll, ..options }),
        Method::SqPollIoPoll => Some(RingOptions {
            iopoll: true,
            sqpoll,
            ..options
        }),
        Method::HybridUring => Some(RingOptions {
            iopoll: true,
            hybrid: true,
            ..options
        }),
        _ => None,
    }
}

fn pvsync2_refusal(hipri: bool, depth: u16, wait: &Wait) -> Option<&'static str> {
    match (wait, hipri) {
        _ if depth > 1 => {
            Some("pvsync2 does one I/O per call: use depth 1 and more jobs, or io_uring or libaio")
        }
        (Wait::Hybrid(_), _) => Some(
            "pvsync2 returns when the I/O is complete, so there is no time to sleep in: use io_uring, or hipri with the \
             kernel's own hybrid polling",
        ),
        (Wait::Poll, false) => {
            Some("pvsync2 polls only within its call: use pvsync2:hipri, or wait for the interrupt")
        }
        (Wait::Interrupt, true) => {
            Some("hipri polls within the call: poll, or leave hipri out to wait for the interrupt")
        }
        _ => None,
    }
}

/// The reason why a ring with HYBRID_IOPOLL and without a helper cannot wait in this way.
fn hybrid_ring_refusal(wait: &Wait) -> Option<&'static str> {
    match wait {
        Wait::Interrupt => Some(
            "requests on a HYBRID_IOPOLL ring raise no interrupt: poll, or leave hybrid out to have a second ring \
             with interrupts beside",
        ),
        Wait::Hybrid(_) => Some(
            "HYBRID_IOPOLL sleeps by a rule of the kernel's own, and a second one would sleep on top: poll, or leave \
             hybrid out",
        ),
        Wait::Poll => None,
    }
}
