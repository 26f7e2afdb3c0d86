//! Breaks texts into lines: between words, after a comma in a long name, after a slash in a path.
//! Also cuts texts to fit a width.

use super::screen::printable;
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The lines of a text within `width` columns. `mark` stands before the first line, `hang` before
/// each line that a break makes. A piece that is wider than the line stays whole.
pub(super) fn wrap(text: &str, width: usize, mark: &str, hang: &str) -> Vec<String> {
    let mut wrapped_lines = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let first_indent = if at == 0 { mark } else { hang };
        let options = Options::new(width)
            .initial_indent(first_indent)
            .subsequent_indent(hang)
            .break_words(false)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit)
            .word_separator(WordSeparator::Custom(pieces));
        let lines = textwrap::wrap(line, options);
        wrapped_lines.extend(lines.into_iter().map(|line| line.trim_end().to_owned()));
    }
    wrapped_lines
}

pub(super) fn widest_piece_columns(text: &str) -> usize {
    let pieces = text.split('\n').flat_map(pieces);
    pieces.map(|piece| display_width(&piece)).max().unwrap_or(0)
}

fn pieces(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let (mut unread, mut in_path) = (line, false);
    Box::new(std::iter::from_fn(move || {
        in_path |= unread.trim_start().starts_with('/');
        let (piece, remainder) = unread.split_at(end_of_piece(unread, in_path)?);
        in_path &= !piece.ends_with(' ');
        unread = remainder;
        Some(Word::from(piece))
    }))
}

/// The end of the first piece of a text, with the blanks that follow it; `None` for an empty text.
/// `in_path` says whether the text is part of a path.
fn end_of_piece(text: &str, in_path: bool) -> Option<usize> {
    let (mut has_text, mut may_break) = (false, false);
    for (at, c) in text.char_indices() {
        if c != ' ' && may_break {
            return Some(at);
        }
        match c {
            // Blanks before the first word belong to it, so that an indented line stays so.
            ' ' => may_break = has_text,
            ',' => (has_text, may_break) = (true, true),
            '/' => (has_text, may_break) = (true, in_path && at > 0),
            _ => has_text = true,
        }
    }
    (!text.is_empty()).then_some(text.len())
}

/// The text in at most `width` columns; a longer one ends in an ellipsis. Control characters become
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
    short.extend((width > 0).then_some('\u{2026}'));
    short
}

/// The text as [`cut`] makes it, filled with blanks up to `width`.
pub(super) fn pad(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let blanks = width.saturating_sub(display_width(&text));
    text + &" ".repeat(blanks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_names_break_behind_commas_and_slashes_only() {
        let lines = wrap("hybrid mean:ratio=50%,period=100ms", 22, "▸ ", "    ");
        let wanted = ["▸ hybrid", "    mean:ratio=50%,", "    period=100ms"];
        assert_eq!(lines, wanted);
        let lines = wrap("/dev/disk/by-id/nvme-SAMSUNG_MZQL", 16, "", "  ");
        assert_eq!(lines, ["/dev/disk/by-id/", "  nvme-SAMSUNG_MZQL"]);
        assert_eq!(widest_piece_columns("/dev/disk/by-id/nvme-x"), 6);
        assert_eq!(widest_piece_columns("KIOPS/core"), 10);
        assert_eq!(widest_piece_columns("two  words"), 5);
    }

    #[test]
    fn blanks_before_a_line_stay() {
        assert_eq!(wrap("  a b", 4, "", ""), ["  a", "b"]);
        assert_eq!(wrap("", 4, "", ""), [""]);
    }

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab\u{2026}");
        assert_eq!(cut("abcd", 1), "\u{2026}");
        assert_eq!(cut("abcd", 0), "");
        assert_eq!(pad("ab", 4), "ab  ");
    }

    proptest! {
        #[test]
        fn no_text_is_too_wide(text in any::<String>(), width in 0usize..40) {
            prop_assert!(display_width(&cut(&text, width)) <= width);
            prop_assert_eq!(display_width(&pad(&text, width)), width);
        }
    }
}
