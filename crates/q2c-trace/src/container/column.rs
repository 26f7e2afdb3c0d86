//! The columns of a trace: names, types, packing and fields, in one table.

use super::cell::{NumberCell, number_array, set_cells, write_some};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type as I32, UInt32Type as U32, UInt64Type as U64,
};
use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_schema::DataType;
use q2c_model::IoRecord;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

/// Encoding of a column's cells before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// A dictionary, for few distinct values.
    Dictionary,
    /// Differences, for rising or widely varying integers.
    Delta,
    /// No encoding, for cells that neither dictionary nor differences make smaller.
    Plain,
}

static TEXT: LazyLock<DataType> =
    LazyLock::new(|| DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)));

struct ColumnSpec {
    name: &'static str,
    nullable: bool,
    packing: Packing,
    unit: &'static str,
    meaning: &'static str,
}

macro_rules! columns {
    (
        $($variant:ident $field:ident $kind:ident $need:ident $packing:ident
        $unit:literal $meaning:literal;)*
    ) => {
        /// A column of the trace, named like its field of [`q2c_model::IoRecord`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Column {
            $(
                #[doc = concat!("`", stringify!($field), "`")]
                $variant,
            )*
        }

        impl Column {
            /// All columns, in the order of the file.
            pub const ALL: &'static [Column] = &[$(Column::$variant),*];

            const fn spec(self) -> ColumnSpec {
                match self {
                    $(Column::$variant => ColumnSpec {
                        name: stringify!($field),
                        nullable: columns!(@nullable $need),
                        packing: Packing::$packing,
                        unit: $unit,
                        meaning: $meaning,
                    },)*
                }
            }

            /// The type of its cells.
            pub(super) fn data_type(self) -> DataType {
                match self {
                    $(Column::$variant => columns!(@type $kind),)*
                }
            }

            /// Counts for each column that may be null the records that have a cell.
            pub(super) fn count_known(records: &[IoRecord]) -> [usize; Column::ALL.len()] {
                let mut counts = [0; Column::ALL.len()];
                for record in records {
                    $(columns!(@count $need record $field counts $variant);)*
                }
                counts
            }

            /// Puts the cells of this column into the records; does nothing for text columns.
            pub(super) fn fill(self, array: &dyn Array, records: &mut [IoRecord]) {
                match self {
                    $(Column::$variant => columns!(@fill $kind array records $field),)*
                }
            }

            /// The cells of this column; all null for text columns. `all` is true if every record
            /// has one.
            pub(super) fn array(self, records: &[IoRecord], all: bool) -> ArrayRef {
                match self {
                    $(Column::$variant => columns!(@array $kind records all $field),)*
                }
            }

            /// Appends the record's cell as text; nothing if there is none or the column holds
            /// text.
            pub(crate) fn write(self, record: &IoRecord, row: &mut Vec<u8>) -> io::Result<()> {
                match self {
                    $(Column::$variant => columns!(@write $kind record row $field),)*
                }
            }
        }
    };
    (@nullable always) => { false };
    (@nullable maybe) => { true };
    (@type Text) => { TEXT.clone() };
    (@type Bool) => { DataType::Boolean };
    (@type $number:ident) => { $number::DATA_TYPE };
    (@count always $record:ident $field:ident $counts:ident $variant:ident) => {};
    (@count maybe $record:ident $field:ident $counts:ident $variant:ident) => {
        $counts[Column::$variant as usize] += usize::from($record.$field.is_some())
    };
    (@fill Text $array:ident $records:ident $field:ident) => { {} };
    (@fill Bool $array:ident $records:ident $field:ident) => {
        set_cells($array.as_boolean(), $records, |record, cell| record.$field = Some(cell))
    };
    (@fill $number:ident $array:ident $records:ident $field:ident) => {
        set_cells($array.as_primitive::<$number>(), $records, |record, cell| record.$field.set(cell))
    };
    (@array Text $records:ident $all:ident $field:ident) => { new_null_array(&TEXT, $records.len()) };
    (@array Bool $records:ident $all:ident $field:ident) => {
        Arc::new($records.iter().map(|record| record.$field).collect::<BooleanArray>())
    };
    (@array $number:ident $records:ident $all:ident $field:ident) => {
        number_array::<$number>($records, $all, |record| record.$field.get())
    };
    (@write Text $record:ident $row:ident $field:ident) => { Ok(()) };
    (@write Bool $record:ident $row:ident $field:ident) => { write_some($row, $record.$field) };
    (@write $number:ident $record:ident $row:ident $field:ident) => {
        write_some($row, $record.$field.get())
    };
}

columns! {
    Id            id                U64  always Delta
        "" "number of the request in the trace, from 0";
    Layer         layer             Text always Dictionary
        "" "user or block: the layer in which the times were taken";
    Device        device            Text always Dictionary
        "" "major:minor of the disk; 0:0 where unknown";
    Op            op                Text always Dictionary
        "" "read, write, flush, discard or other";
    Flags         flags             U32  always Dictionary
        "bits" "sync 1, meta 2, fua 4, readahead 8, polled 16, part of a split 32, times in no figure 64";
    Sector        sector            U64  always Delta
        "512 B" "first sector: on the disk, or in the file of a file target";
    Bytes         bytes             U64  always Dictionary
        "bytes" "length of the request";
    Lane          lane              U32  always Dictionary
        "" "submitting thread, numbered from 0 as they appear";
    DepthAtSubmit depth_at_submit   U32  always Dictionary
        "" "requests of the lane in flight at the submission, this one included";
    QueueNs       queue_ns          U64  maybe  Delta
        "ns" "block layer, Q: the I/O was queued";
    GetrqNs       getrq_ns          U64  maybe  Delta
        "ns" "block layer, G: its request was allocated; with merged_into, M: it was merged";
    InsertNs      insert_ns         U64  maybe  Delta
        "ns" "block layer, I: inserted into the scheduler";
    IssueNs       issue_ns          U64  maybe  Delta
        "ns" "block layer, D: handed to the driver";
    CompleteNs    complete_ns       U64  maybe  Delta
        "ns" "block layer, C: completed by the driver";
    SubmitNs      submit_ns         U64  maybe  Delta
        "ns" "user layer: just before the submitting call";
    SubmitEndNs   submit_end_ns     U64  maybe  Delta
        "ns" "user layer: the submitting call returned";
    ReapNs        reap_ns           U64  maybe  Delta
        "ns" "user layer: the program saw the completion";
    SleepAskedNs  sleep_asked_ns    U64  maybe  Dictionary
        "ns" "user layer, a duration: the sleep that a rule asked for";
    SleptNs       slept_ns          U64  maybe  Delta
        "ns" "user layer, a duration: the sleep from call to return";
    Missed        missed            Bool maybe  Plain
        "" "user layer: the sleep was too long, the I/O was complete before";
    Pid           pid               U32  maybe  Dictionary
        "" "number of the process that submitted";
    Comm          comm              Text maybe  Dictionary
        "" "name of that process, at most 15 bytes";
    CpuSubmit     cpu_submit        U32  maybe  Dictionary
        "" "CPU of the submission";
    CpuComplete   cpu_complete      U32  maybe  Dictionary
        "" "CPU on which the completion ran";
    Hctx          hctx              U32  maybe  Dictionary
        "" "number of the hardware queue";
    Tag           tag               U32  maybe  Dictionary
        "" "tag of the request in the hardware queue";
    Cgroup        cgroup            U64  maybe  Dictionary
        "" "number of the cgroup";
    Error         error             I32  maybe  Dictionary
        "errno" "0, or a negative error number";
    MergedInto    merged_into       U64  maybe  Delta
        "" "id of the request that carried this one after a merge";
}

impl Column {
    /// The columns that may give a record's start: the first of them that has a value does.
    pub(super) const STARTS: [Column; 4] = [
        Column::SubmitNs,
        Column::QueueNs,
        Column::GetrqNs,
        Column::IssueNs,
    ];

    /// The column's name in the file.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// True if cells may be null, because a source may lack the value.
    pub const fn is_optional(self) -> bool {
        self.spec().nullable
    }

    /// The unit of its cells; empty for names and plain numbers.
    pub const fn unit(self) -> &'static str {
        self.spec().unit
    }

    /// The meaning of its cells, in one line for readers of the file.
    pub const fn meaning(self) -> &'static str {
        self.spec().meaning
    }

    /// The type of its cells in Parquet's terms: `uint64`, `uint32`, `int32`, `bool` or `string`.
    pub fn type_name(self) -> &'static str {
        match self.data_type() {
            DataType::UInt64 => "uint64",
            DataType::UInt32 => "uint32",
            DataType::Int32 => "int32",
            DataType::Boolean => "bool",
            _ => "string",
        }
    }

    pub(super) const fn packing(self) -> Packing {
        self.spec().packing
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut columns = Column::ALL.iter().copied();
        let column = columns.find(|column| column.name() == text);
        column.ok_or_else(|| {
            let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
            let names = names.join(", ");
            format!("expected a column of the trace ({names}), found `{text}`")
        })
    }
}
