//! Writes a target before it is measured, so that figures do not depend on its old contents.

use q2c_engine::engine::{Engine, EngineError, Operation, Request};
use q2c_engine::engines::{Memory, SharedBuffers};
use q2c_model::Bytes;
use q2c_model::stats::Rng;
use q2c_replay::{ReplayError, ReplayTarget};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a target is written before a trial. The random offsets are the same before each trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// This many sequential passes of 128 KiB writes, 32 in flight. Fewer bytes than that at the
    /// target's end are not written.
    Sequential(u32),
    /// One sequential pass, then random writes of 4 KiB that add up to the size of the target.
    Random,
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Precondition::Sequential(1) => f.write_str("sequential"),
            Precondition::Sequential(times) => write!(f, "sequential:{times}"),
            Precondition::Random => f.write_str("random"),
        }
    }
}

impl FromStr for Precondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("expected sequential, sequential:N (passes) or random, found `{text}`");
        match text.split_once(':') {
            None if text == "sequential" => Ok(Precondition::Sequential(1)),
            None if text == "random" => Ok(Precondition::Random),
            Some(("sequential", times)) => {
                let times = times.parse().ok().filter(|n| (1..=100).contains(n));
                times.map(Precondition::Sequential).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

const IN_FLIGHT: u16 = 32;
const LARGE_BYTES: u32 = 128 << 10;
const SMALL_BYTES: u32 = 4 << 10;

impl Precondition {
    /// Writes the targets one after the other until all are done or `stop` is set.
    pub(crate) fn run(
        self,
        targets: &[ReplayTarget],
        stop: &AtomicBool,
    ) -> Result<(), ReplayError> {
        for target in targets {
            let (size, large) = (target.size.0, u64::from(LARGE_BYTES));
            for _ in 0..self.passes() {
                write(target, LARGE_BYTES, size / large, stop, |nth| nth * large)?;
            }
            if self == Precondition::Random {
                let (mut rng, blocks) = (Rng::new(1), size / u64::from(SMALL_BYTES));
                let offset = |_| rng.below(blocks) * u64::from(SMALL_BYTES);
                write(target, SMALL_BYTES, blocks, stop, offset)?;
            }
        }
        Ok(())
    }

    fn passes(self) -> u32 {
        match self {
            Precondition::Sequential(times) => times,
            Precondition::Random => 1,
        }
    }

    /// Bytes that are written before a trial to a target of this size.
    pub(crate) fn bytes(self, size: Bytes) -> Bytes {
        let random = u64::from(self == Precondition::Random);
        Bytes(size.0.saturating_mul(u64::from(self.passes()) + random))
    }
}

/// Makes `count` writes of `length` bytes. `offset` gives the offset of write number n, from 0.
fn write(
    target: &ReplayTarget,
    length: u32,
    count: u64,
    stop: &AtomicBool,
    mut offset: impl FnMut(u64) -> u64,
) -> Result<(), ReplayError> {
    let memory = Memory {
        slots: usize::from(IN_FLIGHT),
        size: length as usize,
        shared: Some(SharedBuffers {
            pool: usize::from(IN_FLIGHT),
            compressible: 0,
        }),
    };
    let mut engine = target.engine.open_in(&target.medium, memory, 1)?;
    let mut free_slots: Vec<u16> = (0..IN_FLIGHT).collect();
    for nth in 0..count {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let free_slot = free_slots.pop();
        let slot = free_slot.map_or_else(|| await_write(engine.as_mut(), length), Ok)?;
        engine.submit(&[Request {
            operation: Operation::Write,
            offset: offset(nth),
            length,
            slot,
        }])?;
    }
    for _ in free_slots.len()..usize::from(IN_FLIGHT) {
        await_write(engine.as_mut(), length)?;
    }
    Ok(())
}

fn await_write(engine: &mut dyn Engine, length: u32) -> Result<u16, EngineError> {
    let done = engine.wait()?;
    if done.result == length as i32 {
        return Ok(done.slot);
    }
    // A write that was cut short is told as an I/O error, EIO.
    let errno = if done.result < 0 { -done.result } else { 5 };
    let source = std::io::Error::from_raw_os_error(errno);
    Err(EngineError::Precondition { source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_engine::Medium;

    #[test]
    fn texts_come_back() {
        for text in ["sequential", "sequential:3", "random"] {
            let parsed: Precondition = text.parse().unwrap();
            assert_eq!(parsed.to_string(), text);
        }
        for wrong in ["", "sequential:0", "sequential:x", "twice"] {
            assert!(wrong.parse::<Precondition>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_write_that_was_cut_short_is_an_io_error() {
        let target = ReplayTarget {
            medium: Medium::None,
            engine: "fault:short@3:null".parse().unwrap(),
            size: Bytes(8 * u64::from(LARGE_BYTES)),
            align: Bytes(512),
            devices: Vec::new(),
        };
        let run = Precondition::Sequential(1).run(&[target], &AtomicBool::new(false));
        let error = run.unwrap_err().to_string();
        assert!(error.contains("os error 5"), "{error}");
    }
}
