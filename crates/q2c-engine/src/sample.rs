//! The record of one I/O, written into memory that was touched before the run.

use crate::{EngineError, IoTally, Operation, Request};
use q2c_model::{Bytes, Nanos, Op};
use q2c_policy::Io;
use q2c_sys::cache::prefetch_behind;

/// One finished I/O. Times count from the zero of the run's clock, in ns; durations other than the
/// wait saturate at 4.29 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Time just before the submission.
    pub submit_ns: u64,
    /// Byte offset on the target.
    pub offset: u64,
    /// Wall time of the submission. It is 0, with [`Sample::ONE_CALL`] set, if submission and
    /// waiting were one call.
    pub submit_len_ns: u32,
    /// Lower 32 bits of the time from the submission's return to the reaping. [`Sample::wait`] has
    /// all bits.
    pub wait_ns: u32,
    /// Sleep asked, from the submission's return; valid with [`Sample::SLEPT`].
    pub asked_ns: u32,
    /// Time from the submission's return to the wake-up; valid with [`Sample::SLEPT`].
    pub woke_ns: u32,
    /// Time from the call of the sleep to its return; valid with [`Sample::SLEPT`].
    pub slept_ns: u32,
    /// Bytes moved, or a negative errno.
    pub result: i32,
    /// The bits of the constants below and, above them, the upper 32 bits of the wait. It is one
    /// word, because padding after a byte is copied in overlapping pieces, and each copy waits for
    /// the previous store: 10 ns per I/O.
    pub flags: u64,
}

impl Sample {
    /// The lane slept.
    pub const SLEPT: u64 = 1;
    /// The first poll after the wake-up found the completion.
    pub const MISSED: u64 = 2;
    /// Submission and waiting were one system call, with no time between them.
    pub const ONE_CALL: u64 = 4;
    /// Hybrid polling handled it, whether it slept or not.
    pub const HYBRID: u64 = 8;
    /// The sleep rule left it to the interrupt: the lane waited in the kernel, without sleeping or
    /// looking.
    pub const INTERRUPT: u64 = 16;
    /// It wrote; without this bit it read.
    pub const WRITE: u64 = 32;

    /// The bits of `flags` that belong to the wait.
    const WAIT_BITS: u64 = !(u32::MAX as u64);

    /// The sample of a request that is submitted at `submit_ns`.
    #[inline]
    pub(crate) fn begin(submit_ns: u64, request: &Request) -> Self {
        Sample {
            submit_ns,
            offset: request.offset,
            flags: match request.operation {
                Operation::Write => Sample::WRITE,
                _ => 0,
            },
            ..Sample::default()
        }
    }

    /// The same sample, with submission and waiting in one call: all its time is the wait.
    #[inline]
    #[must_use]
    pub(crate) fn in_one_call(self, wait_ns: u64, result: i32) -> Self {
        let flags = self.flags | Sample::ONE_CALL;
        let sample = Sample {
            result,
            flags,
            ..self
        };
        sample.with_wait(wait_ns)
    }

    /// What was done, and to how many bytes, as sleep rules see it.
    #[inline]
    pub const fn io(&self, bytes: u32) -> Io {
        Io {
            direction: self.op().direction(),
            bytes,
        }
    }

    /// Its operation as traces name it.
    pub const fn op(&self) -> Op {
        if self.is(Sample::WRITE) {
            Op::Write
        } else {
            Op::Read
        }
    }

    /// The same sample with `ns` from the submission's return to the reaping.
    #[inline]
    #[must_use]
    pub(crate) fn with_wait(self, ns: u64) -> Self {
        Sample {
            wait_ns: ns as u32,
            flags: self.flags & !Sample::WAIT_BITS | ns & Sample::WAIT_BITS,
            ..self
        }
    }

    /// Time from the submission's return to the reaping, ns.
    #[inline]
    pub const fn wait(&self) -> u64 {
        self.flags & Sample::WAIT_BITS | self.wait_ns as u64
    }

    /// True if any bit says how the lane waited.
    pub(crate) const fn has_wait_flags(&self) -> bool {
        self.flags & !(Sample::WAIT_BITS | Sample::ONE_CALL | Sample::WRITE) != 0
    }

    /// True if all bits of `flags` are set.
    pub const fn is(&self, flags: u64) -> bool {
        self.flags & flags == flags
    }

    /// Time at which the completion was seen, ns on the run's clock.
    #[inline]
    pub const fn reaped_ns(&self) -> u64 {
        self.submit_ns + self.submit_len_ns as u64 + self.wait()
    }

    /// U2C: time from just before the submission to the reaping.
    pub const fn u2c(&self) -> Nanos {
        Nanos(self.submit_len_ns as u64 + self.wait())
    }
}

/// The duration in 32 bits; the largest value if it does not fit.
#[inline]
pub(crate) fn clamp_u32(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

/// A request that failed or moved fewer bytes than requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedIo {
    /// Number of the I/O in its lane, from 0.
    pub nth: u64,
    /// Byte offset on the target.
    pub offset: u64,
    /// Bytes asked.
    pub asked: u32,
    /// Bytes moved, or a negative errno.
    pub result: i32,
}

/// An empty vector with room for `capacity` samples. All its pages have been written once, so that
/// the run has no page faults.
pub(crate) fn prefaulted_samples(capacity: usize) -> Result<Vec<Sample>, EngineError> {
    let non_zero = Sample {
        flags: 1,
        ..Sample::default()
    };
    let mut samples = Vec::new();
    samples
        .try_reserve_exact(capacity)
        .map_err(|_| EngineError::Samples {
            bytes: Bytes(capacity.saturating_mul(size_of::<Sample>()) as u64),
        })?;
    samples.resize(capacity, non_zero);
    samples.clear();
    Ok(samples)
}

/// A lane's store of samples. Samples beyond the capacity are counted and not kept.
#[derive(Debug, Default)]
pub(crate) struct SampleRecorder {
    /// In real time, its pages up to the capacity were written once; see [`prefaulted_samples`].
    pub samples: Vec<Sample>,
    pub capacity: usize,
    /// The tally to which every I/O is added.
    pub tally: Option<Box<IoTally>>,
    /// I/Os so far, recorded or not.
    pub ios: u64,
    /// Number of I/Os that failed or were short, and the first of them.
    pub faults: u64,
    pub first_fault: Option<FailedIo>,
}

impl SampleRecorder {
    /// True if anything of an I/O is kept. A recorder that keeps nothing only counts.
    pub(crate) fn keeps(&self) -> bool {
        self.capacity > 0 || self.tally.is_some()
    }

    /// Counts a finished I/O of `asked` bytes and keeps nothing of it. Returns true if all its
    /// bytes were moved.
    #[inline]
    pub(crate) fn add(&mut self, offset: u64, result: i32, asked: u32) -> bool {
        self.ios += 1;
        let good = result == asked as i32;
        if !good {
            self.note_fault(offset, result, asked);
        }
        good
    }

    /// Takes out the tally of the I/Os since the last call; `None` if no tally is kept.
    pub(crate) fn take_tally(&mut self) -> Option<Box<IoTally>> {
        let tally = self.tally.as_mut()?;
        let empty = Box::new(IoTally::empty(tally.kinds.is_some()));
        Some(std::mem::replace(tally, empty))
    }

    /// Records a finished I/O of `asked` bytes. Returns true if all its bytes were moved.
    #[inline(always)]
    pub(crate) fn push(&mut self, sample: Sample, asked: u32) -> bool {
        if self.samples.len() < self.capacity {
            self.samples.push(sample);
            prefetch_behind(&self.samples);
        }
        if let Some(tally) = &mut self.tally {
            tally.count(&sample);
        }
        self.ios += 1;
        let good = sample.result == asked as i32;
        if !good {
            self.note_fault(sample.offset, sample.result, asked);
        }
        good
    }

    /// Records a flush. It is no I/O: it counts by itself. Returns true if it did not fail.
    pub(crate) fn push_flush(&mut self, flush: Sample) -> bool {
        if let Some(kinds) = self.tally.as_mut().and_then(|tally| tally.kinds.as_mut()) {
            kinds.flushes.record(flush.u2c().0);
        }
        let good = flush.result == 0;
        if !good {
            self.note_fault(flush.offset, flush.result, 0);
        }
        good
    }

    #[cold]
    fn note_fault(&mut self, offset: u64, result: i32, asked: u32) {
        let fault = FailedIo {
            nth: self.ios.saturating_sub(1),
            offset,
            asked,
            result,
        };
        self.first_fault.get_or_insert(fault);
        self.faults += 1;
    }

    /// Continues with `empty` as its memory, and returns the samples so far. Nothing is allocated
    /// if `empty` has enough capacity.
    pub(crate) fn swap_samples(&mut self, mut empty: Vec<Sample>) -> Vec<Sample> {
        empty.clear();
        std::mem::replace(&mut self.samples, empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More memory than any address space has is an error, and does not end the process.
    #[test]
    fn samples_that_memory_does_not_hold_are_an_error() {
        let message = prefaulted_samples(1 << 58).unwrap_err().to_string();
        assert!(message.starts_with("allocate"), "{message}");
        assert!(message.contains("of samples for a job"), "{message}");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut recorder = SampleRecorder {
            capacity: 1,
            ..SampleRecorder::default()
        };
        let good = Sample {
            result: 512,
            ..Sample::default()
        };
        let short = Sample {
            result: 100,
            offset: 4096,
            ..Sample::default()
        };
        assert!(recorder.push(good, 512));
        assert!(!recorder.push(short, 512));
        assert_eq!((recorder.ios, recorder.samples.len()), (2, 1));
        let first = FailedIo {
            nth: 1,
            offset: 4096,
            asked: 512,
            result: 100,
        };
        assert_eq!((recorder.faults, recorder.first_fault), (1, Some(first)));
    }

    /// Times of the lane itself saturate within an hour; the wait for a device does not.
    #[test]
    fn an_hour_saturates_and_an_hour_of_waiting_does_not() {
        const HOUR: u64 = 3_600_000_000_000;
        assert_eq!(clamp_u32(HOUR), u32::MAX);
        let waited = Sample::begin(5, &Request::default()).in_one_call(HOUR, 4096);
        assert_eq!((waited.wait(), waited.u2c()), (HOUR, Nanos(HOUR)));
        assert_eq!(waited.reaped_ns(), HOUR + 5);
        assert!(waited.is(Sample::ONE_CALL) && !waited.has_wait_flags());
        let less = waited.with_wait(7);
        assert_eq!((less.wait(), less.flags), (7, Sample::ONE_CALL));
    }
}
