//! Turns the recordings of other tools into I/O records.
//!
//! There is one file per format, and one line in [`FORMATS`]. Published traces with one request per
//! line share `line_formats`. docs/formats.md lists each format's columns and units.

mod arrange;
mod biosnoop;
mod blkparse;
mod blktrace;
mod csv;
mod decimal;
mod error;
mod event_text;
mod fio_iolog;
mod fio_log;
mod fleet;
mod ftrace;
mod input;
mod latency_list;
mod line_formats;
mod merge;
mod ms_etw;
mod not_recordings;
mod options;
mod row;
mod run;
mod shape;
mod text;
mod unpack;
mod vscsi;

pub(crate) use arrange::Depths;
pub use blktrace::{blktrace_files, blktrace_meta};
pub use csv::{CsvField, csv_fields};
pub use decimal::TimeUnit;
pub use error::ImportError;
pub(crate) use error::unreadable;
pub use fleet::to_fleet;
pub use input::{DUPLICATE_RECORD, IdSet, Input, to_trace};
pub use merge::merge_recordings;
pub use options::{ColumnMap, ImportOption, ImportOptions};
pub(crate) use run::RecordBuffer;
pub use run::{Import, Origin, RecordSink};

use arrange::Spec;
use error::{BadLine, bad};
use line_formats::{Alibaba, DiskSim, Fiu, LineFormat, Msr, Nexus5, Spc, Systor17, Tencent};
use q2c_model::TraceMeta;
use row::{MaybeTime, Name, Names, Row};
use run::{fact, refuse_stated, require};

/// A format that can be imported; [`FORMATS`] lists all of them.
pub struct ImportFormat {
    /// The name of the format on the command line, and as `source` in the trace.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Returns true if a file that begins with these bytes looks like this format. The caller
    /// passes some thousand bytes, which may end anywhere.
    pub sniff: fn(&[u8]) -> bool,
    /// True if only the shape of its rows identifies the format, so that another kind of file may
    /// be mistaken for it.
    pub by_shape: bool,
    /// The options that the importer uses. Other options are errors.
    pub uses: &'static [ImportOption],
    /// Reads the source to its end, passes the records on in the source's order, and returns the
    /// description. Its memory must be bounded for any source.
    pub import: fn(&mut Import<'_>) -> Result<TraceMeta, ImportError>,
}

/// All formats that can be imported. The first format that recognises a file is used.
pub const FORMATS: &[ImportFormat] = &[
    blktrace::FORMAT,
    latency_list::FORMAT,
    vscsi::FORMAT,
    fio_iolog::FORMAT,
    fio_log::FORMAT,
    blkparse::FORMAT,
    ftrace::FORMAT,
    biosnoop::FORMAT,
    DiskSim::FORMAT,
    Spc::FORMAT,
    Msr::FORMAT,
    Systor17::FORMAT,
    Alibaba::FORMAT,
    Tencent::FORMAT,
    Fiu::FORMAT,
    ms_etw::FORMAT,
    Nexus5::FORMAT,
    csv::FORMAT,
];

/// Returns the format of this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static ImportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Detects the format of a file that begins with `head`; `None` if no format recognises it.
pub fn sniff(head: &[u8]) -> Option<&'static ImportFormat> {
    FORMATS.iter().find(|format| (format.sniff)(head))
}
