//! Units, operations, the I/O record, the cost model, the options of a replay, and faults with
//! their exit codes: the types that all other crates share.
//!
//! The crate is pure data: it reads no clock and touches no device.

/// Functions that treat all fields of a struct alike; each field has the struct's type parameter.
#[doc(hidden)]
#[macro_export]
macro_rules! each_field {
    ($kind:ident, $($field:ident),+) => {
        impl<T> $kind<T> {
            /// Applies `f` to each field.
            #[inline(always)]
            pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> $kind<U> {
                $kind { $($field: f(self.$field)),+ }
            }

            /// References to the fields.
            #[inline(always)]
            pub fn each_ref(&self) -> $kind<&T> {
                $kind { $($field: &self.$field),+ }
            }

            /// Pairs each field with the same field of `other`.
            #[inline(always)]
            pub fn zip<U>(self, other: $kind<U>) -> $kind<(T, U)> {
                $kind { $($field: (self.$field, other.$field)),+ }
            }
        }

        /// Collects several runs: each field becomes the series of its values, in the order of the
        /// runs.
        impl<T> FromIterator<$kind<T>> for $kind<Vec<T>> {
            fn from_iter<I: IntoIterator<Item = $kind<T>>>(runs: I) -> Self {
                let mut columns = Self::default();
                for run in runs {
                    $(columns.$field.push(run.$field);)+
                }
                columns
            }
        }
    };
}

mod cost;
mod exit;
pub mod facts;
mod fault;
mod grouping;
mod interpretation;
pub mod lost;
mod op;
mod pattern;
mod rates;
mod record;
pub mod replay;
mod size;
pub mod stats;
pub mod stored;
mod trace_summary;
mod units;
mod values;

pub use cost::{CostModel, Curve, WakeDelay};
pub use exit::Exit;
pub use fault::{Fault, OrFault};
pub use grouping::{distinct, grouped};
pub use interpretation::{AssumedValues, DeviceTime, Interpretation, LanesBy, LeftOutReason};
pub use op::{Direction, Layer, Op, OpFlags};
pub use pattern::{ParsePatternError, Pattern, Zipf};
pub use rates::{Latencies, Rates, SimulatedFigures, U2cParts};
pub use record::{IoRecord, TraceMeta};
pub use size::{ParseTextError, parse_duration, parse_percent, parse_size, parse_time};
pub use trace_summary::{FleetMeta, TraceLatency, TraceSummary};
pub use units::{Bytes, CpuId, DevId, Nanos, Sectors};
pub use values::{
    List, parse_budget, parse_counts, parse_cpus, parse_names, parse_numbers, parse_seconds_in,
    parse_time_in,
};

/// Re-exported for the macro [`serde_as_text`].
#[doc(hidden)]
pub use serde;
