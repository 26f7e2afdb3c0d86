use super::{EngineSpec, RingKind};
use q2c_policy::{LaneMethod, Method};
use q2c_sys::{RingOptions, SqPoll};

impl EngineSpec {
    /// The engine with the options that `method` needs, and the method of the lane that drives it.
    /// `None` when the engine does not have the method. Whether the device and the kernel have it
    /// is another question.
    pub fn for_method(&self, method: &Method) -> Option<(EngineSpec, LaneMethod)> {
        match self {
            EngineSpec::ByDevice(RingKind::File) | EngineSpec::IoUring(_) => match ring(method) {
                Some(options) => Some((EngineSpec::IoUring(options), LaneMethod::Poll)),
                None => self.as_it_is(method),
            },
            EngineSpec::Pvsync2(flags) => match method {
                &Method::POLL | Method::HybridKernel(_) => {
                    let mut flags = *flags;
                    flags.hipri = true;
                    Some((EngineSpec::Pvsync2(flags), LaneMethod::Poll))
                }
                &Method::INTERRUPT => self.as_it_is(method),
                _ => None,
            },
            _ => self.as_it_is(method),
        }
    }

    /// Interrupts, polling of memory, and sleep rules need no options of the engine.
    fn as_it_is(&self, method: &Method) -> Option<(EngineSpec, LaneMethod)> {
        Some((self.clone(), method.lane()?.clone()))
    }

    /// Whether the kernel polls within the call that does the I/O (RWF_HIPRI), after a sleep where
    /// `queue/io_poll_delay` sets one.
    pub fn polls_in_call(&self) -> bool {
        matches!(self.plain(), EngineSpec::Pvsync2(flags) if flags.hipri)
    }

    /// Why the engine cannot keep a schedule of submissions; `None` when it can. Only an engine
    /// that submits without waiting can.
    pub fn keeps_no_schedule(&self) -> Option<&'static str> {
        match self.plain() {
            EngineSpec::Pvsync2(_) => Some("it waits for each request in its call"),
            EngineSpec::IoUringCmd { .. } => Some("it sends commands past the block layer"),
            EngineSpec::IoUring(options) if options.iopoll => {
                Some("it polls in its calls, which keeps no schedule")
            }
            _ => None,
        }
    }

    /// Whether a submission may put the thread to sleep: kernel AIO waits when the block layer has
    /// no free request.
    pub fn may_sleep_in_submission(&self) -> bool {
        matches!(self.plain(), EngineSpec::Libaio(_))
    }

    /// Whether the engine can discard blocks. Kernel AIO has no discards: they would fail.
    pub fn has_discards(&self) -> bool {
        !matches!(self.plain(), EngineSpec::Libaio(_))
    }
}

/// The options of a ring for a method that only rings have; `None` for every other method.
fn ring(method: &Method) -> Option<RingOptions> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> EngineSpec {
        text.parse().expect("a known engine")
    }

    #[test]
    fn a_method_brings_its_options() {
        for (on, method, wanted) in [
            ("io_uring", "interrupt", Some("io_uring")),
            ("io_uring", "poll", Some("io_uring")),
            ("io_uring", "sqpoll", Some("io_uring:sqpoll")),
            ("io_uring", "sqpoll-iopoll", Some("io_uring:iopoll,sqpoll")),
            ("io_uring", "hybrid-uring", Some("io_uring:iopoll,hybrid")),
            ("io_uring", "hybrid-kernel", None),
            ("pvsync2", "interrupt", Some("pvsync2")),
            ("pvsync2:nowait", "poll", Some("pvsync2:hipri,nowait")),
            ("pvsync2", "hybrid-kernel:57us", Some("pvsync2:hipri")),
            ("pvsync2", "hybrid:fixed:1us", None),
            ("libaio", "hybrid:fixed:1us", Some("libaio")),
            ("libaio", "sqpoll", None),
            ("fault:eio@5:io_uring", "sqpoll", None),
        ] {
            let choice = spec(on).for_method(&method.parse().unwrap());
            let engine = choice.map(|(engine, _)| engine.to_string());
            assert_eq!(engine.as_deref(), wanted, "{method} on {on}");
        }
        let waits = |on: &str, method: &str| {
            let choice = spec(on).for_method(&method.parse().unwrap());
            choice.expect("it has the method").1
        };
        assert_eq!(waits("io_uring", "hybrid-uring"), LaneMethod::Poll);
        assert_eq!(waits("pvsync2", "interrupt"), LaneMethod::Interrupt);
    }

    #[test]
    fn faults_around_an_engine_do_not_change_how_it_polls_and_submits() {
        assert!(spec("fault:eio@9:pvsync2:hipri").polls_in_call());
        assert!(!spec("pvsync2").polls_in_call() && !spec("io_uring:iopoll").polls_in_call());
        for text in ["pvsync2", "io_uring_cmd", "io_uring:iopoll"] {
            assert!(spec(text).keeps_no_schedule().is_some(), "{text}");
            let faulty = format!("fault:eio@9:{text}");
            assert!(spec(&faulty).keeps_no_schedule().is_some(), "{faulty}");
        }
        for text in ["io_uring", "libaio", "null", "sim:50us", "fault:eio@9:null"] {
            assert_eq!(spec(text).keeps_no_schedule(), None, "{text}");
        }
    }
}
