//! Collects the I/Os of a recording beside a workload, in memory and in a thread of its own.

use crate::{CapturedBy, Following, Gatherer, Missing, Pace, ProbeError, Recorder};
use q2c_trace::recording::RecordedIo;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recording under way, read by a thread of its own. It makes a `T` of each wanted I/O and keeps
/// it for its owner.
///
/// The caller begins it, takes out the kept values as often as it likes, and ends it once. When it
/// is dropped without an end, the thread ends the recording by itself.
pub struct Collector<T> {
    captured_by: CapturedBy,
    shared: Arc<Mutex<CollectedIos<T>>>,
    following: Following<SelectingGatherer<T>>,
}

/// A recording that has ended.
#[derive(Clone, Debug)]
pub struct Collected<T> {
    /// The I/Os that were not taken out before.
    pub ios: Vec<T>,
    /// Wanted I/Os for which there was no room.
    pub not_kept: u64,
    /// Everything that the recording lacks.
    pub missing: Missing,
    /// CPU time of the thread that read the recording, ns.
    pub cpu_ns: u64,
    /// Wall time of that thread, ns.
    pub wall_ns: u64,
}

impl<T> Collected<T> {
    /// CPU time of the thread that read the recording, percent of one CPU.
    pub fn reader_cpu_pct(&self) -> f64 {
        self.cpu_ns as f64 / self.wall_ns.max(1) as f64 * 100.0
    }
}

struct CollectedIos<T> {
    ios: Vec<T>,
    not_kept: u64,
}

/// Turns an I/O into the value that is kept, or `None` when it is not wanted.
type Selector<T> = Box<dyn FnMut(&RecordedIo) -> Option<T> + Send>;

struct SelectingGatherer<T> {
    shared: Arc<Mutex<CollectedIos<T>>>,
    max_ios: usize,
    select: Selector<T>,
}

fn lock<T>(shared: &Mutex<CollectedIos<T>>) -> MutexGuard<'_, CollectedIos<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send + 'static> Gatherer for SelectingGatherer<T> {
    fn take(&mut self, io: RecordedIo) {
        let Some(wanted) = (self.select)(&io) else {
            return;
        };
        let mut collected = lock(&self.shared);
        if collected.ios.len() < self.max_ios {
            collected.ios.push(wanted);
        } else {
            collected.not_kept += 1;
        }
    }
}

impl<T: Send + 'static> Collector<T> {
    /// Starts a thread that reads the attached recording. `select` turns an I/O into the value to
    /// keep, or `None` when it is not wanted. At most `max_ios` values are kept at a time. The
    /// thread calls `prepare` before it reads, for example to leave a CPU.
    pub fn begin(
        recorder: Recorder,
        max_ios: usize,
        select: impl FnMut(&RecordedIo) -> Option<T> + Send + 'static,
        prepare: impl FnOnce() + Send + 'static,
    ) -> Result<Collector<T>, ProbeError> {
        let captured_by = recorder.captured_by();
        let (ios, not_kept) = (Vec::new(), 0);
        let shared = Arc::new(Mutex::new(CollectedIos { ios, not_kept }));
        let gatherer = SelectingGatherer {
            shared: Arc::clone(&shared),
            max_ios,
            select: Box::new(select),
        };
        Ok(Collector {
            captured_by,
            shared,
            following: Following::begin(recorder, Pace::default(), gatherer, prepare)?,
        })
    }

    /// The way in which the recording is made.
    pub fn captured_by(&self) -> CapturedBy {
        self.captured_by
    }

    /// Takes out the I/Os that have come since the last call, and the number of those for which
    /// there was no room.
    pub fn take(&self) -> (Vec<T>, u64) {
        let mut collected = lock(&self.shared);
        (take(&mut collected.ios), take(&mut collected.not_kept))
    }

    /// True if the thread has ended by itself: the recording cannot be read any more, and
    /// [`Collector::end`] returns the reason.
    pub fn is_broken(&self) -> bool {
        self.following.is_broken()
    }

    /// Ends the recording. I/Os in flight get a moment to complete.
    pub fn end(self) -> Result<Collected<T>, ProbeError> {
        let recording = self.following.end()?;
        let mut collected = lock(&self.shared);
        Ok(Collected {
            ios: take(&mut collected.ios),
            not_kept: collected.not_kept,
            missing: recording.missing,
            cpu_ns: recording.cpu_ns,
            wall_ns: recording.wall_ns,
        })
    }
}
