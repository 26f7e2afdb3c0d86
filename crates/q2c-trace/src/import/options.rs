//! Properties that a source lacks and that the user states.

use super::decimal::TimeUnit;
use super::input::is_trace;
use super::{FORMATS, ImportFormat};
use q2c_model::{Bytes, DevId, Op};
use std::path::{Path, PathBuf};

/// Options of all importers. Each format lists those that it uses.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The unit of all times and latencies in the source; it is never guessed.
    pub unit: Option<TimeUnit>,
    /// The operation of all requests, if the source lacks it.
    pub op: Option<Op>,
    /// The length of all requests, if the source lacks it.
    pub bytes: Option<Bytes>,
    /// The operation and the length that requests get if neither the source nor the user gives
    /// them.
    pub assumed: Option<(Op, Bytes)>,
    /// The device of all requests, if the source lacks it; 0:0 means unknown.
    pub device: DevId,
    /// Bytes per unit of the source's offsets; `None` for the unit of the format.
    pub offset_unit: Option<Bytes>,
    /// `disksim`: the lowest bit of a read's flags, 0 or 1; `None` means 1. `csv`: the number that
    /// means a read; required if operations are 0 and 1.
    pub read_flag: Option<u8>,
    /// `csv`: the headers of the columns that hold the fields.
    pub columns: Vec<ColumnMap>,
    /// `csv`: the byte between cells, where a blank means any number of blanks; `None` means that
    /// it is detected.
    pub delimiter: Option<u8>,
    /// `blkparse`: the format given to `blkparse -f`; `None` means blkparse's default.
    pub blkparse_format: Option<String>,
    /// Sorts a source that is out of order by any distance. Rows beyond the memory go to an unnamed
    /// file in this folder.
    pub sort: Option<PathBuf>,
    /// Leaves out lines that cannot be read instead of stopping, and counts them by reason in the
    /// trace's `unmatched`.
    pub skip_bad: bool,
    /// True if the options are for several recordings, not all of which are q2c traces. The q2c
    /// traces then accept all options, because the other recordings may need them.
    pub mixed: bool,
}

impl ImportOptions {
    /// Returns these options for the recordings at `paths`.
    pub fn for_recordings<P: AsRef<Path>>(&self, paths: &[P]) -> Self {
        ImportOptions {
            mixed: !paths.iter().all(|path| is_trace(path.as_ref())),
            ..self.clone()
        }
    }

    /// The format implied by an option that only this format uses.
    pub(super) fn implied_format(&self) -> Option<&'static ImportFormat> {
        self.given_flags().find_map(|(option, _)| {
            let mut formats = option.using_formats();
            formats.next().filter(|_| formats.next().is_none())
        })
    }

    /// The given options that only some formats use, with their command-line flags.
    pub(super) fn given_flags(&self) -> impl Iterator<Item = (ImportOption, &'static str)> {
        use ImportOption as O;
        const BLKPARSE_FORMAT: &str = "--blkparse-format";
        let has_blkparse_format = self.blkparse_format.is_some();
        let options = [
            (O::Unit, "--unit", self.unit.is_some()),
            (O::OffsetUnit, "--offset-unit", self.offset_unit.is_some()),
            (O::Op, "--op", self.op.is_some()),
            (O::Bytes, "--bs", self.bytes.is_some()),
            (O::ReadFlag, "--read-flag", self.read_flag.is_some()),
            (O::Columns, "--columns", !self.columns.is_empty()),
            (O::Delimiter, "--delimiter", self.delimiter.is_some()),
            (O::BlkparseFormat, BLKPARSE_FORMAT, has_blkparse_format),
            (O::Sort, "--sort", self.sort.is_some()),
        ];
        let given = options.into_iter().filter(|(.., is_given)| *is_given);
        given.map(|(option, flag, _)| (option, flag))
    }

    pub(super) fn op_or_assumed(&self) -> Option<Op> {
        self.op.or(self.assumed.map(|(op, _)| op))
    }

    pub(super) fn bytes_or_assumed(&self) -> Option<Bytes> {
        self.bytes.or(self.assumed.map(|(_, bytes)| bytes))
    }
}

/// An option that only some formats use, named like its field of [`ImportOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say it")]
pub enum ImportOption {
    Unit,
    OffsetUnit,
    Op,
    Bytes,
    ReadFlag,
    Columns,
    Delimiter,
    BlkparseFormat,
    Sort,
}

impl ImportOption {
    pub(super) fn using_formats(self) -> impl Iterator<Item = &'static ImportFormat> {
        let formats = FORMATS.iter();
        formats.filter(move |format| format.uses.contains(&self))
    }
}

/// One pair `field=header` of a column map: the column `header` holds `field`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    /// A field that the importer knows.
    pub field: String,
    /// A header of the source's first row, or `HEADER:UNIT` if no header has exactly this text.
    pub header: String,
}

impl ColumnMap {
    /// Parses `field=header,field=header`; `None` if a part has no `=`.
    pub fn parse_list(text: &str) -> Option<Vec<ColumnMap>> {
        let pair = |part: &str| {
            let (field, header) = part.split_once('=')?;
            let [field, header] = [field, header].map(|text| text.trim().to_owned());
            Some(ColumnMap { field, header })
        };
        text.split(',').map(pair).collect()
    }
}
