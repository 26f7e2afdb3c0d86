//! Texts that must not be longer than their place.

use super::screen::printable;
use textwrap::core::display_width;

/// The text in at most `width` columns: a longer one ends in an ellipsis. Control characters become
/// visible.
pub(super) fn cut(text: &str, width: usize) -> String {
    let text = printable(text);
    if display_width(&text) <= width {
        return text;
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if display_width(&short) >= width {
            short.pop();
            break;
        }
    }
    if width > 0 {
        short.push('\u{2026}');
    }
    short
}

/// The text as [`cut`] does it, with blanks behind it up to `width`.
pub(super) fn padded(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let blanks = width.saturating_sub(display_width(&text));
    text + &" ".repeat(blanks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab\u{2026}");
        assert_eq!(cut("abcd", 1), "\u{2026}");
        assert_eq!(cut("abcd", 0), "");
        assert_eq!(padded("ab", 4), "ab  ");
    }

    proptest! {
        #[test]
        fn no_text_is_too_wide(text in any::<String>(), width in 0usize..40) {
            prop_assert!(display_width(&cut(&text, width)) <= width);
            prop_assert_eq!(display_width(&padded(&text, width)), width);
        }
    }
}
