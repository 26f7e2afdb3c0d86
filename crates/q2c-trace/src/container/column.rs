//! The columns of a trace: names, types and packing, in one table.

use arrow_schema::DataType;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    U64,
    U32,
    I32,
    Bool,
    /// Text with few distinct values.
    Text,
}

/// Encoding of a column's cells before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// For few distinct values.
    Dictionary,
    /// For rising or widely varying integers.
    Delta,
    /// For cells that neither of the others makes smaller.
    Plain,
}

struct Spec {
    name: &'static str,
    kind: Kind,
    nullable: bool,
    packing: Packing,
}

macro_rules! columns {
    ($($variant:ident $name:literal $kind:ident $need:ident $packing:ident;)*) => {
        /// A column of the trace, named as the field of [`q2c_model::IoRecord`] it holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Column {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl Column {
            /// All columns, in the order of the file.
            pub const ALL: &'static [Column] = &[$(Column::$variant),*];

            const fn spec(self) -> Spec {
                match self {
                    $(Column::$variant => Spec {
                        name: $name,
                        kind: Kind::$kind,
                        nullable: columns!(@nullable $need),
                        packing: Packing::$packing,
                    },)*
                }
            }
        }
    };
    (@nullable always) => { false };
    (@nullable maybe) => { true };
}

columns! {
    Id            "id"              U64  always Delta;
    Layer         "layer"           Text always Dictionary;
    Device        "device"          Text always Dictionary;
    Op            "op"              Text always Dictionary;
    Flags         "flags"           U32  always Dictionary;
    Sector        "sector"          U64  always Delta;
    Bytes         "bytes"           U64  always Dictionary;
    Lane          "lane"            U32  always Dictionary;
    DepthAtSubmit "depth_at_submit" U32  always Dictionary;
    QueueNs       "queue_ns"        U64  maybe  Delta;
    GetrqNs       "getrq_ns"        U64  maybe  Delta;
    InsertNs      "insert_ns"       U64  maybe  Delta;
    IssueNs       "issue_ns"        U64  maybe  Delta;
    CompleteNs    "complete_ns"     U64  maybe  Delta;
    SubmitNs      "submit_ns"       U64  maybe  Delta;
    SubmitEndNs   "submit_end_ns"   U64  maybe  Delta;
    ReapNs        "reap_ns"         U64  maybe  Delta;
    SleepAskedNs  "sleep_asked_ns"  U64  maybe  Dictionary;
    SleptNs       "slept_ns"        U64  maybe  Delta;
    Missed        "missed"          Bool maybe  Plain;
    Pid           "pid"             U32  maybe  Dictionary;
    Comm          "comm"            Text maybe  Dictionary;
    CpuSubmit     "cpu_submit"      U32  maybe  Dictionary;
    CpuComplete   "cpu_complete"    U32  maybe  Dictionary;
    Hctx          "hctx"            U32  maybe  Dictionary;
    Tag           "tag"             U32  maybe  Dictionary;
    Cgroup        "cgroup"          U64  maybe  Dictionary;
    Error         "error"           I32  maybe  Dictionary;
    MergedInto    "merged_into"     U64  maybe  Delta;
}

impl Column {
    /// The instants that give a record's start: the first of these columns that has a value.
    pub(super) const STARTS: [Column; 4] = [
        Column::SubmitNs,
        Column::QueueNs,
        Column::GetrqNs,
        Column::IssueNs,
    ];

    /// The column's name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether cells may be null, because a source need not know the value.
    #[must_use]
    pub const fn is_optional(self) -> bool {
        self.spec().nullable
    }

    pub(super) const fn kind(self) -> Kind {
        self.spec().kind
    }

    pub(super) const fn packing(self) -> Packing {
        self.spec().packing
    }

    pub(super) fn data_type(self) -> DataType {
        match self.kind() {
            Kind::U64 => DataType::UInt64,
            Kind::U32 => DataType::UInt32,
            Kind::I32 => DataType::Int32,
            Kind::Bool => DataType::Boolean,
            Kind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no column of the trace has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected a column of the trace ({all}), found `{found}`", all = names(), found = .0)]
pub struct UnknownColumn(pub String);

fn names() -> String {
    let all: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
    all.join(", ")
}

impl FromStr for Column {
    type Err = UnknownColumn;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Column::ALL.iter().find(|column| column.name() == text);
        found.copied().ok_or_else(|| UnknownColumn(text.to_owned()))
    }
}
