//! The trace file `q2c.trace`, a Parquet file with one row per request, and the importers and
//! exporters of other formats.
//!
//! [`TraceWriter`] streams [`q2c_model::IoRecord`]s into a file that gets its name only when it is
//! whole.
//! [`TraceReader`] streams them back, row group by row group, with the columns and the rows that a
//! [`Scan`] asks for. [`Frame`] reads records from Arrow batches of other programs. [`Counting`]
//! sums up what a trace holds. [`import`] turns what other tools recorded into records, [`export`]
//! writes records as other tools read them, and [`recording`] takes what a probe sees, in the order
//! of completion. [`Wholes`] puts the parts of split I/Os together again.
//!
//! Any Parquet reader opens the file. Times are unsigned nanoseconds, null where the source had
//! none. `op`, `layer`, `device` and `comm` are dictionary-encoded text, and the device is
//! `major:minor`.
//!
//! # Example
//! ```
//! use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
//! use q2c_trace::{Scan, TraceReader, TraceWriter};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("one.parquet");
//! let mut writer = TraceWriter::create(&path, TraceMeta::default())?;
//! let device = DevId { major: 259, minor: 0 };
//! let mut read = IoRecord::new(0, Layer::User, device, Op::Read, Sectors(8), Bytes(4096));
//! (read.submit_ns, read.reap_ns) = (Some(Nanos(1_000)), Some(Nanos(81_000)));
//! writer.push(&[read.clone()])?;
//! writer.finish()?;
//!
//! let reader = TraceReader::open(&path)?;
//! let batches = reader.records(&Scan::new())?.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(batches.concat(), [read]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod blktrace;
mod container;
pub mod export;
pub mod import;
pub mod process;
mod reading;
pub mod recording;
mod sorter;
pub mod span;
mod summary;
pub mod table;
mod whole;

pub use container::{
    Batches, Column, Frame, Records, SCHEMA_VERSION, Scan, Temporary, TraceError, TraceReader,
    TraceWriter, remove_unfinished,
};
pub use process::is_cut_name;
pub use reading::{CountedFile, bytes_read};
pub use span::Span;
pub use summary::Counting;
pub use whole::{WholeIo, Wholes};
