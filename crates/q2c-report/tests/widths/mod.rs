//! Properties of a report at every width.

use q2c_report::terminal::Screen;
use std::collections::HashSet;

fn screen(width: u16) -> Screen {
    Screen {
        verbose: true,
        ..Screen::new(width, false)
    }
}

/// At every width from 60 on, lines fit, except for those to be copied. No word is broken: no two
/// pieces below each other are one piece in a report without line breaks.
pub(crate) fn fits(name: &str, report: impl Fn(Screen) -> String) {
    let wide = report(screen(2_000));
    let whole: HashSet<&str> = pieces(&wide).collect();
    for width in (60..=200).step_by(4) {
        let text = report(screen(width));
        lines_fit(&text, width);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| pieces(line).collect()).collect();
        for two in lines.windows(2) {
            let pair = two[0]
                .iter()
                .flat_map(|a| two[1].iter().map(move |b| (a, b)))
                .filter(|(a, b)| !a.is_empty() && !b.is_empty())
                .find(|(a, b): &(&&str, &&str)| {
                    !whole.contains(**a) && whole.contains(format!("{a}{b}").as_str())
                });
            assert_eq!(pair, None, "{name} at {width}:\n{text}");
        }
    }
}

/// The pieces of a text between which lines may be broken.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ",/─".contains(c))
}

/// Asserts that lines fit. Lines to copy, indented by four, and over-wide words are allowed.
fn lines_fit(text: &str, width: u16) {
    for line in text.lines().filter(|line| !line.starts_with("    ")) {
        let columns = line.chars().count();
        let is_one_word = line.trim().split(' ').count() == 1;
        assert!(
            columns <= usize::from(width) || is_one_word,
            "{columns} columns of {width}: {line}\n{text}"
        );
    }
}
