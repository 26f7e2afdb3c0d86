//! Result types: the versioned JSON that every run writes and that every report is made from.
//!
//! Nothing in this crate measures or prints. A number's unit is in the field's name or in its doc.

/// Defines an enum whose variants results store as words; `$method` returns a variant's word.
macro_rules! words {
    ($(#[$enum_attribute:meta])* pub enum $enum_name:ident, $method:ident {
        $($(#[$variant_attribute:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$enum_attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $enum_name {
            $($(#[$variant_attribute])* #[serde(rename = $word)] $variant,)+
        }

        impl $enum_name {
            /// All variants.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The variant's word in results.
            pub const fn $method(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

pub mod analyze;
pub mod bench;
pub mod compare;
pub mod corun;
pub mod diff;
pub mod doctor;
pub mod figures;
pub mod fs;
pub mod kernel_tune;
pub mod kernel_watch;
pub mod late;
pub mod lead;
pub mod live;
pub mod machine;
pub mod mode;
pub mod place;
pub mod place_run;
pub mod place_watch;
pub mod poll_search;
pub mod poll_study;
pub mod program;
pub mod ramdisk;
pub mod replay;
pub mod reproduce;
pub mod role;
pub mod runs;
pub mod scale;
pub mod sim;
pub mod steer;
pub mod sweep;
pub mod trace;
pub mod tune;
pub mod tune_jobs;
pub mod volumes;
pub mod waits;
pub mod warning;
pub mod watch;

pub use doctor::{Check, CheckVerdict, DoctorFix, DoctorReport};
pub use machine::{CpuTrial, Device, Machine, Provenance, Target, TargetKind};
pub use q2c_model::Exit;
pub use warning::Warning;

#[cfg(test)]
mod tests {
    use serde::{Serialize, de::DeserializeOwned};
    use std::fmt::Debug;

    /// Checks that a value is written as this JSON, and that it reads back as the same value.
    pub(crate) fn assert_json<T>(value: &T, json: &str)
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        assert_eq!(serde_json::to_string(value).unwrap(), json);
        assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
    }
}
