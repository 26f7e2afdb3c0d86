//! Recording by BPF, or by tracefs where BPF is refused.

use crate::block_io::BlockIo;
use crate::tracefs::Tracefs;
use crate::{Drained, Missing, ProbeError, Wanted};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_result::replay::CapturedBy;
use q2c_trace::recording::Recorded;

enum Kind {
    Bpf(Box<BlockIo>),
    Tracefs(Box<Tracefs>),
}

/// A recording under way, by BPF or by tracefs.
///
/// The caller attaches it and calls [`Recorder::follow`], or drains it so often that no buffer
/// fills, and ends it once. Dropping it without [`Recorder::end`] stops the recording as well; I/Os
/// that were not handed on are lost then.
pub struct Recorder {
    kind: Kind,
    refused: Option<ProbeError>,
}

impl Recorder {
    /// Begins to record 1 to 8 disks. `by` names the way; `None` takes BPF, and tracefs where BPF
    /// is refused.
    ///
    /// # Errors
    /// The disks cannot be recorded, or the named way is refused, or both ways are; the error gives
    /// the reason for each.
    pub fn attach(
        roots: &Roots,
        disks: &[Disk],
        wanted: &Wanted,
        by: Option<CapturedBy>,
    ) -> Result<Recorder, ProbeError> {
        let bpf = || BlockIo::attach(roots, disks, wanted).map(|probe| Kind::Bpf(Box::new(probe)));
        let tracefs =
            || Tracefs::attach(roots, disks, wanted).map(|probe| Kind::Tracefs(Box::new(probe)));
        let (kind, refused) = match by {
            Some(CapturedBy::Bpf) => (bpf()?, None),
            Some(CapturedBy::Tracefs) => (tracefs()?, None),
            None => match bpf() {
                Ok(kind) => (kind, None),
                Err(error @ ProbeError::Disks { .. }) => return Err(error),
                Err(bpf) => match tracefs() {
                    Ok(kind) => (kind, Some(bpf)),
                    Err(tracefs) => {
                        return Err(ProbeError::Neither {
                            bpf: Box::new(bpf),
                            tracefs: Box::new(tracefs),
                        });
                    }
                },
            },
        };
        Ok(Recorder { kind, refused })
    }

    /// The way in which this recording is made.
    #[must_use]
    pub fn by(&self) -> CapturedBy {
        match self.kind {
            Kind::Bpf(_) => CapturedBy::Bpf,
            Kind::Tracefs(_) => CapturedBy::Tracefs,
        }
    }

    /// Why BPF was refused, when [`Recorder::attach`] was free to choose and fell back to tracefs;
    /// else `None`.
    #[must_use]
    pub fn refused(&self) -> Option<&ProbeError> {
        self.refused.as_ref()
    }

    /// Hands on completed I/Os that were not handed on before. [`Tracefs::drain`] holds an I/O back
    /// until those queued before it have completed.
    ///
    /// # Errors
    /// The outer error: the buffers cannot be read. The inner error is that of `take`; the record
    /// it was given is lost.
    pub fn drain<E>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Result<Drained, E>, ProbeError> {
        match &mut self.kind {
            Kind::Bpf(probe) => Ok(probe.drain(take)),
            Kind::Tracefs(probe) => probe.drain(take),
        }
    }

    /// Ends the recording and hands on the last I/Os. [`Recorder::missing`] is complete afterwards.
    ///
    /// # Errors
    /// As [`Recorder::drain`].
    pub fn end<E>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Result<(), E>, ProbeError> {
        match &mut self.kind {
            Kind::Bpf(probe) => probe.end(take),
            Kind::Tracefs(probe) => probe.end(take),
        }
    }

    /// What the recording lacks so far.
    ///
    /// # Errors
    /// The kernel's counts cannot be read.
    pub fn missing(&self) -> Result<Missing, ProbeError> {
        match &self.kind {
            Kind::Bpf(probe) => probe.missing(),
            Kind::Tracefs(probe) => probe.missing(),
        }
    }

    /// About how many I/Os are in flight now.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn in_flight(&self) -> Result<u64, ProbeError> {
        match &self.kind {
            Kind::Bpf(probe) => probe.in_flight_now(),
            Kind::Tracefs(probe) => Ok(probe.in_flight()),
        }
    }
}
