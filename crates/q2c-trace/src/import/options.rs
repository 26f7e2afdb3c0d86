//! What a source does not say and the user must.

use super::decimal::TimeUnit;
use q2c_model::{Bytes, DevId, Op};
use std::path::PathBuf;

/// Options of all importers; each says in its help which ones it reads.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The unit of every time and latency in the source. Never guessed.
    pub unit: Option<TimeUnit>,
    /// The operation of requests whose source does not tell.
    pub op: Option<Op>,
    /// The length of requests whose source does not tell.
    pub bytes: Option<Bytes>,
    /// The device of requests whose source does not tell; 0:0 stands for unknown.
    pub device: DevId,
    /// Bytes per unit of the source's offsets; the format's own when `None`.
    pub offset_unit: Option<Bytes>,
    /// `disksim`: the lowest bit of the flags of reads, 0 or 1; 1 when `None`.
    pub read_flag: Option<u8>,
    /// `csv`: which header holds which field.
    pub columns: Vec<ColumnMap>,
    /// `csv`: the byte between cells; a comma when `None`.
    pub delimiter: Option<u8>,
    /// `blkparse`: the format given to `blkparse -f`; its default format when `None`.
    pub blkparse_format: Option<String>,
    /// Sort a source that is out of order by any distance, with what memory has no room for in an unnamed file in this folder.
    pub sort: Option<PathBuf>,
    /// Leave out lines that cannot be read, counted by reason in the trace's `unmatched`, instead of stopping.
    pub skip_bad: bool,
}

/// `field=header`: the cells under `header` are the trace's `field`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    /// A field of the importer's list.
    pub field: String,
    /// A header of the source.
    pub header: String,
}

impl ColumnMap {
    /// Reads `field=header,field=header`; `None` when a part has no `=`.
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
