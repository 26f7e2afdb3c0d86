//! Properties that a source does not tell and that the user states.

use super::decimal::TimeUnit;
use super::error::{ImportError, misused};
use super::input::{Input, is_trace};
use super::{FORMATS, ImportFormat, by_name};
use q2c_model::{Bytes, DevId, Op};
use std::path::{Path, PathBuf};

/// Options of all importers. Each format says which of them it uses.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The unit of every time and latency in the source; it is never guessed.
    pub unit: Option<TimeUnit>,
    /// The operation of all requests, where the source does not tell it.
    pub op: Option<Op>,
    /// The length of all requests, where the source does not tell it.
    pub bytes: Option<Bytes>,
    /// The operation and the length that requests get where neither the source nor the user gives
    /// them.
    pub assumed: Option<(Op, Bytes)>,
    /// The device of all requests, where the source does not tell it; 0:0 stands for unknown.
    pub device: DevId,
    /// Bytes per unit of the source's offsets; `None` for the unit of the format.
    pub offset_unit: Option<Bytes>,
    /// `disksim`: the lowest bit of a read's flags, 0 or 1; `None` means 1. `csv`: the number of a
    /// read where operations are 0 and 1; needed there.
    pub read_flag: Option<u8>,
    /// `csv`: the headers of the columns that hold the fields.
    pub columns: Vec<ColumnMap>,
    /// `csv`: the byte between cells, a blank for any number of blanks; `None` means that it is
    /// detected.
    pub delimiter: Option<u8>,
    /// `blkparse`: the format that was given to `blkparse -f`; `None` means blkparse's default
    /// format.
    pub blkparse_format: Option<String>,
    /// Sorts a source that is out of order by any distance. Rows that memory does not hold go to an
    /// unnamed file in this folder.
    pub sort: Option<PathBuf>,
    /// Leaves out lines that cannot be read instead of stopping, and counts them by reason in the
    /// trace's `unmatched`.
    pub skip_bad: bool,
    /// Whether the options are for several recordings of which some are no q2c traces. Those that
    /// are take any options then, as the others may need them.
    pub mixed: bool,
}

impl ImportOptions {
    /// These options for the recordings at `paths`.
    pub fn for_recordings<P: AsRef<Path>>(&self, paths: &[P]) -> Self {
        ImportOptions {
            mixed: !paths.iter().all(|path| is_trace(path.as_ref())),
            ..self.clone()
        }
    }

    /// The format of an option that no other format uses.
    pub(super) fn only_format(&self) -> Option<&'static ImportFormat> {
        self.given().find_map(|(option, _)| {
            let mut users = option.users();
            users.next().filter(|_| users.next().is_none())
        })
    }

    /// The options that are given and that only some formats use, with their flags on the command
    /// line.
    fn given(&self) -> impl Iterator<Item = (ImportOption, &'static str)> {
        use ImportOption as O;
        let options = [
            (O::Unit, "--unit", self.unit.is_some()),
            (O::OffsetUnit, "--offset-unit", self.offset_unit.is_some()),
            (O::Op, "--op", self.op.is_some()),
            (O::Bytes, "--bs", self.bytes.is_some()),
            (O::ReadFlag, "--read-flag", self.read_flag.is_some()),
            (O::Columns, "--columns", !self.columns.is_empty()),
            (O::Delimiter, "--delimiter", self.delimiter.is_some()),
            (
                O::BlkparseFormat,
                "--blkparse-format",
                self.blkparse_format.is_some(),
            ),
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

/// An option that only some formats use: the field of [`ImportOptions`] of this name.
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
    fn users(self) -> impl Iterator<Item = &'static ImportFormat> {
        let formats = FORMATS.iter();
        formats.filter(move |format| format.uses.contains(&self))
    }
}

impl Input {
    /// Whether an import reads the option. That of a q2c trace reads none.
    fn uses(&self, option: ImportOption) -> bool {
        let format = self.format().and_then(by_name);
        format.is_some_and(|format| format.uses.contains(&option))
    }

    /// Refuses options that the format of the recording does not use. A q2c trace uses none.
    pub fn check(&self, path: &Path, options: &ImportOptions) -> Result<(), ImportError> {
        let unused = options.given().find(|(option, _)| !self.uses(*option));
        let Some(format) = self.format() else {
            let skip_bad = options.skip_bad.then_some("--skip-bad");
            let flag = unused.map(|(_, flag)| flag).or(skip_bad);
            let needless = flag.filter(|_| !options.mixed);
            let path = path.display();
            return needless.map_or(Ok(()), |flag| {
                Err(misused(format_args!(
                    "read {path}: expected a recording of another tool beside {flag}, found a q2c trace, which needs no such \
                     option; leave it out"
                )))
            });
        };
        let Some((option, flag)) = unused else {
            return Ok(());
        };
        let users: Vec<&str> = option.users().map(|format| format.name).collect();
        Err(ImportError::Unused {
            path: path.to_owned(),
            format,
            flag,
            users: users.join(", "),
        })
    }
}

/// One pair `field=header` of a column map: the cells under `header` hold `field`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    /// A field that the importer knows.
    pub field: String,
    /// A header of the source's first row; `HEADER:UNIT` where there is none of exactly this text.
    pub header: String,
}

impl ColumnMap {
    /// Parses `field=header,field=header`; `None` when a part has no `=`.
    pub fn parse_list(text: &str) -> Option<Vec<ColumnMap>> {
        let pair = |part: &str| {
            let (field, header) = part.split_once('=')?;
            Some(ColumnMap {
                field: field.trim().to_owned(),
                header: header.trim().to_owned(),
            })
        };
        text.split(',').map(pair).collect()
    }
}
