//! The trace file `q2c.trace`, a Parquet file with one row per request. Also importers and
//! exporters of other formats.
//!
//! [`TraceWriter`] streams [`q2c_model::IoRecord`]s into a file that gets its name when complete.
//! [`TraceReader`] streams them back by row group, with the columns and rows that a [`Scan`]
//! selects. [`Frame`] reads records from Arrow batches of other programs. [`TraceCounter`]
//! summarises a trace. [`import`] turns recordings of other tools into records, and [`export`]
//! writes records for other tools. [`recording`] sorts by start the I/Os that a probe reports when
//! they are complete. [`SplitJoiner`] joins the parts of split I/Os.
//!
//! Any Parquet reader opens the file. Times are unsigned nanoseconds, null if the source lacks
//! them. `op`, `layer`, `device` and `comm` are dictionary-encoded text; the device is
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
pub mod samples;
mod sorter;
pub mod span;
mod summary;
pub mod table;
mod whole;

pub use container::{
    Batches, Column, Frame, Records, SCHEMA_VERSION, Scan, TraceError, TraceReader, TraceWriter,
    UnfinishedFile, remove_unfinished,
};
pub use process::is_cut_name;
pub use reading::{CountedFile, bytes_read};
pub use span::Span;
pub use summary::TraceCounter;
pub use whole::{SplitJoiner, WholeIo};
