//! Properties that a source does not tell and that the user states.

use super::decimal::TimeUnit;
use q2c_model::{Bytes, DevId, Op};
use std::path::PathBuf;

/// Options of all importers. The help of each format says which options it reads.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The unit of every time and latency in the source; it is never guessed.
    pub unit: Option<TimeUnit>,
    /// The operation of all requests, where the source does not tell it.
    pub op: Option<Op>,
    /// The length of all requests, where the source does not tell it.
    pub bytes: Option<Bytes>,
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
    #[must_use]
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
