//! Builder functions that set one field each.

/// Writes functions such as `name(value) { field = expression }`, which take a value and return it
/// with the field set.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $kind:ty)?) { $field:ident = $set:expr })*) => {
        $(
            $(#[$doc])*
            pub fn $name(mut self $(, $value: $kind)?) -> Self {
                self.$field = $set;
                self
            }
        )*
    };
}

pub(super) use setters;
