//! Places in a text.

use std::fmt;

/// A place in a file, as editors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPlace {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl TextPlace {
    /// The place of a byte of the text.
    pub(crate) fn at_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        TextPlace {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_characters_begin_with_1() {
        let text = "ä = 1\nbc = 2\n";
        let places = [0, 2, 6, 7, 99].map(|byte| TextPlace::at_byte(text, byte));
        let places = places.map(|place| (place.line, place.column));
        assert_eq!(places, [(1, 1), (1, 2), (1, 6), (2, 1), (3, 1)]);
    }
}
