//! What other tools recorded, turned into I/O records.
//!
//! One file per format, and one line in [`FORMATS`]. Formats of one request per line are a parser of [`text`] each; their
//! columns and units are in docs/formats.md.

mod alibaba;
mod arrange;
mod blkparse;
mod blktrace;
mod csv;
mod decimal;
pub(crate) mod depth;
mod disksim;
mod error;
mod fio_iolog;
mod fiu;
mod input;
mod latency_list;
mod lines;
mod ms_etw;
mod msr;
mod nexus5;
mod options;
mod row;
mod run;
mod several;
mod spc;
mod systor17;
mod tencent;
mod text;
mod unpack;
mod vscsi;

pub use blktrace::{blktrace_files, blktrace_meta};
pub use decimal::TimeUnit;
pub use error::ImportError;
pub use input::Input;
pub use options::{ColumnMap, ImportOptions};
pub use run::{Origin, RecordSink, Source, file};
pub use several::several;

use q2c_model::TraceMeta;

/// A format that can be imported.
pub struct Format {
    /// Its name on the command line, and as `source` in the trace.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Whether a file that begins with these bytes (some thousands, maybe cut anywhere) looks like it.
    pub sniff: fn(&[u8]) -> bool,
    /// Reads the source to its end, hands the records on in the source's order, and returns the description.
    pub import: ImportFn,
}

/// An importer. Memory stays bounded whatever the source holds.
pub type ImportFn =
    fn(&mut Source<'_>, &ImportOptions, &mut dyn RecordSink) -> Result<TraceMeta, ImportError>;

/// All formats; the first that recognises a file is the one.
pub const FORMATS: &[Format] = &[
    blktrace::FORMAT,
    latency_list::FORMAT,
    vscsi::FORMAT,
    fio_iolog::FORMAT,
    blkparse::FORMAT,
    disksim::FORMAT,
    spc::FORMAT,
    msr::FORMAT,
    systor17::FORMAT,
    alibaba::FORMAT,
    tencent::FORMAT,
    fiu::FORMAT,
    ms_etw::FORMAT,
    nexus5::FORMAT,
    csv::FORMAT,
];

/// The format of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format of a file that begins with `head`.
#[must_use]
pub fn sniff(head: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(head))
}
