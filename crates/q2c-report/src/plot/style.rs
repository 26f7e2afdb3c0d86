//! Styles of series that are drawn together: each has a colour of its own.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub colour: String,
    pub dash: &'static str,
    pub symbol: &'static str,
}

/// Colours that are easy to tell apart; with more series than these, all get hues instead.
const NAMED: [&str; 9] = [
    "@interrupt",
    "@poll",
    "@chosen",
    "@a",
    "@b",
    "@c",
    "@d",
    "@e",
    "@f",
];

/// With more series than named colours, hues come close to each other, so dashes and symbols differ
/// too.
const DASHES: [&str; 3] = ["solid", "dash", "dot"];
const SYMBOLS: [&str; 5] = ["circle", "square", "diamond", "triangle-up", "cross"];

/// One style for each of `series` series.
pub(crate) fn styles(series: usize) -> Vec<Style> {
    let style = |n: usize| match NAMED.get(n).filter(|_| series <= NAMED.len()) {
        Some(named) => Style {
            colour: (*named).to_owned(),
            ..hue(0, 1)
        },
        None => hue(n, series),
    };
    (0..series).map(style).collect()
}

/// The style of series number `n` of many, whose hues are spread over the circle of colours.
pub(crate) fn hue(n: usize, series: usize) -> Style {
    Style {
        colour: format!("@hue{}", 360 * n / series.max(1)),
        dash: DASHES[n % DASHES.len()],
        symbol: SYMBOLS[n % SYMBOLS.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_series_have_one_colour() {
        for series in [1, 9, 10, 40] {
            let styles = styles(series);
            let colours: BTreeSet<&str> = styles.iter().map(|s| s.colour.as_str()).collect();
            assert_eq!(colours.len(), series, "{colours:?}");
        }
        assert_eq!(styles(10)[1].colour, "@hue36");
    }
}
