//! Recording by BPF, or where that is refused by tracefs.

use crate::block_io::BlockIo;
use crate::tracefs::Tracefs;
use crate::{Drained, Missing, ProbeError, Wanted};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_trace::recording::Recorded;
use std::fmt;
use std::str::FromStr;

/// A way of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Programs in the kernel ([`crate::block_io`]).
    Bpf,
    /// Events of the kernel's tracepoints ([`crate::tracefs`]).
    Tracefs,
}

impl By {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            By::Bpf => "bpf",
            By::Tracefs => "tracefs",
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<By, String> {
        let all = [By::Bpf, By::Tracefs];
        let found = all.into_iter().find(|by| by.name() == text);
        found.ok_or_else(|| format!("expected bpf or tracefs, found {text:?}"))
    }
}

enum Kind {
    Bpf(Box<BlockIo>),
    Tracefs(Box<Tracefs>),
}

/// A recording under way.
pub struct Recorder {
    kind: Kind,
    refused: Option<ProbeError>,
}

impl Recorder {
    /// Begins to record some disks, at most 8, in the way that is named; else by BPF, or by tracefs where that is refused.
    ///
    /// # Errors
    /// The disks cannot be recorded, or neither way is there: why, for both.
    pub fn attach(
        roots: &Roots,
        disks: &[Disk],
        wanted: &Wanted,
        by: Option<By>,
    ) -> Result<Recorder, ProbeError> {
        let bpf = || BlockIo::attach(roots, disks, wanted).map(|probe| Kind::Bpf(Box::new(probe)));
        let tracefs =
            || Tracefs::attach(roots, disks, wanted).map(|probe| Kind::Tracefs(Box::new(probe)));
        let (kind, refused) = match by {
            Some(By::Bpf) => (bpf()?, None),
            Some(By::Tracefs) => (tracefs()?, None),
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

    /// The way.
    #[must_use]
    pub fn by(&self) -> By {
        match self.kind {
            Kind::Bpf(_) => By::Bpf,
            Kind::Tracefs(_) => By::Tracefs,
        }
    }

    /// Why it is not BPF, though it might have been.
    #[must_use]
    pub fn refused(&self) -> Option<&ProbeError> {
        self.refused.as_ref()
    }

    /// Hands on what has completed so far.
    ///
    /// # Errors
    /// The buffers cannot be read; that of `take`, the record is lost then.
    pub fn drain<E>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Result<Drained, E>, ProbeError> {
        match &mut self.kind {
            Kind::Bpf(probe) => Ok(probe.drain(take)),
            Kind::Tracefs(probe) => probe.drain(take),
        }
    }

    /// Ends the recording; the last records. [`Recorder::missing`] is whole then.
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

    /// What is missing so far.
    ///
    /// # Errors
    /// The kernel's counts cannot be read.
    pub fn missing(&self) -> Result<Missing, ProbeError> {
        match &self.kind {
            Kind::Bpf(probe) => probe.missing(),
            Kind::Tracefs(probe) => probe.missing(),
        }
    }

    /// I/Os in flight now, about.
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
