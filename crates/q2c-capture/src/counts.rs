//! Counts that a BPF program keeps for each CPU.

/// Makes a struct with the fields of a program's `struct counts`, in the same order.
macro_rules! counts {
    ($(#[$outer:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl $name {
            pub(crate) const FIELDS: usize = [$(stringify!($field)),+].len();

            pub(crate) fn sum(cpus: &[[u64; Self::FIELDS]]) -> Self {
                let mut sum = Self::default();
                for &[$($field),+] in cpus {
                    $(sum.$field = sum.$field.wrapping_add($field);)+
                }
                sum
            }

            /// The difference between these counts and `earlier` ones.
            #[must_use]
            pub fn since(self, earlier: Self) -> Self {
                $name { $($field: self.$field.saturating_sub(earlier.$field)),+ }
            }
        }
    };
}

pub(crate) use counts;
