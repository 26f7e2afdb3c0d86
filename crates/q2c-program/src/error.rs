//! Why a recording gives no workload.

use q2c_trace::import::ImportError;
use thiserror::Error;

/// A recording of which no workload can be made.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The recording could not be recognised or read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The recording holds no read and no write.
    #[error(
        "copy the I/Os of {named}: expected reads or writes, found none ({others} other operations); data may have \
         come from the page cache, or from another disk"
    )]
    Empty {
        /// The recording, or its command.
        named: String,
        /// Flushes, discards and others.
        others: u64,
    },
    /// No I/O is of a process of the names that were given.
    #[error(
        "copy the I/Os of {named}: expected some of the processes {asked}, found those of {found}"
    )]
    NoProcess {
        /// The recording, or its command.
        named: String,
        /// The names that were asked for.
        asked: String,
        /// The most frequent names in the recording.
        found: String,
    },
    /// No read and no write has an end.
    #[error(
        "copy the I/Os of {named}: expected when they were complete, found {ios} without; a recording of `q2c trace \
         record`, or of blktrace with its events C, has that"
    )]
    NoEnds {
        /// The recording, or its command.
        named: String,
        /// Reads and writes without an end.
        ios: u64,
    },
    /// There are too few I/Os for figures.
    #[error(
        "copy the I/Os of {named}: expected at least {least} reads and writes, found {ios}; let the program run \
         longer, or see that its data are not in the page cache (sync; echo 3 > /proc/sys/vm/drop_caches)"
    )]
    TooFew {
        /// The recording, or its command.
        named: String,
        /// Complete reads and writes.
        ios: u64,
        /// The fewest that are taken.
        least: u64,
    },
    /// So many events were lost that the figures would be wrong.
    #[error(
        "copy the I/Os of {named}: expected at most {most_pct} % of the events lost, found {lost} beside {ios} I/Os; \
         record a part of them: `q2c trace record DISK --op read --out TRACE -- COMMAND`, then `q2c tune --from \
         TRACE`"
    )]
    Lost {
        /// The recording, or its command.
        named: String,
        /// Events that the source lost.
        lost: u64,
        /// Complete reads and writes.
        ios: u64,
        /// Largest share of lost events that is taken, percent.
        most_pct: f64,
    },
}
