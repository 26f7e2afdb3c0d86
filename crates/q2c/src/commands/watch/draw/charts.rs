//! The charts of the last intervals, one for each gauge.

use super::super::state::{RATIO, ShownIntervals, WatchState};
use super::{Head, method_colour};
use q2c_report::terminal::{GAUGES, Gauge, LATE_GAUGES, least_most};
use q2c_result::watch::{WatchInterval, WatchMethod, WatchNumbers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, SparklineBar};

/// A chart shows at least this many seconds. With few columns, several intervals share one.
const MIN_SHOWN_S: f64 = 60.0;
/// Width of the name and the number of a gauge, columns.
const NUMBER_COLUMNS: u16 = 19;
/// Width of the smallest and the largest value next to the number, columns.
const SCALE_COLUMNS: u16 = 19;
pub(super) const MAX_CHART_LINES: u16 = 4;

static BACKGROUND_GAUGE: Gauge = Gauge {
    name: "behind",
    value: |n: &WatchNumbers| n.background_iops,
    text: GAUGES[0].text,
    top: None,
};

pub(super) struct Charts {
    gauges: Vec<&'static Gauge>,
    shown: ShownIntervals,
    names: Vec<WatchMethod>,
    /// Fewest intervals that a chart shows: those of [`MIN_SHOWN_S`].
    min_intervals: usize,
}

impl Charts {
    /// The charts to draw in at most `width` columns.
    pub(crate) fn new(state: &WatchState, head: &Head, width: u16) -> Self {
        let min_intervals = (MIN_SHOWN_S / head.interval.as_secs_f64()).ceil() as usize;
        let background = state.background.is_some().then_some(&BACKGROUND_GAUGE);
        let last = state.last_interval();
        let captured = last.is_some_and(|last| last.numbers.late.is_some());
        let late = LATE_GAUGES.iter().filter(|_| captured);
        Charts {
            gauges: GAUGES.iter().chain(late).chain(background).collect(),
            shown: state.shown(min_intervals.max(usize::from(width))),
            names: state.names(),
            min_intervals,
        }
    }

    pub(crate) fn count(&self) -> u16 {
        self.gauges.len() as u16
    }

    /// Draws the charts, as high as there is room, and below them the marks of changes. The
    /// smallest and the largest value stand below the number of a gauge. In a chart of one line
    /// they stand beside the number if `wide` is set, and else they are left out.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, wide: bool) {
        let count = self.count();
        let height = (area.height.saturating_sub(1) / count).clamp(1, MAX_CHART_LINES);
        let parts = [Constraint::Max(height * count), Constraint::Length(1)];
        let [above, marks] = Layout::vertical(parts).flex(Flex::Start).areas(area);
        let numbers = if height == 1 && wide {
            NUMBER_COLUMNS + SCALE_COLUMNS
        } else {
            NUMBER_COLUMNS
        };
        let width = area.width.saturating_sub(numbers);
        let columns = to_columns(&self.shown, usize::from(width), self.min_intervals);
        let rows = self.gauges.iter().map(|_| Constraint::Length(height));
        let rows = Layout::vertical(rows).split(above);
        for (gauge, row) in self.gauges.iter().zip(rows.iter()) {
            self.chart(frame, gauge, &columns, split_row(numbers, *row));
        }
        let [_, marks] = split_row(numbers, marks);
        let changes = change_marks(&columns, &self.names, usize::from(width));
        frame.render_widget(Line::raw(changes), marks);
    }

    fn chart(
        &self,
        frame: &mut Frame<'_>,
        gauge: &Gauge,
        columns: &[WatchColumn],
        [numbers, chart]: [Rect; 2],
    ) {
        let last = self.shown.intervals.last();
        let value = last.map_or("-".to_owned(), |last| gauge.show(&last.numbers));
        let means: Vec<Option<f64>> = columns.iter().map(|c| c.mean(gauge.value)).collect();
        let most = means.iter().flatten().copied().fold(0.0, f64::max);
        let top = gauge.top.unwrap_or(most).max(f64::MIN_POSITIVE);
        let mut number_line = Line::from(vec![
            Span::raw(format!("{:<7}", gauge.name)),
            Span::styled(format!("{value:>9}"), Modifier::BOLD),
        ]);
        let values_shown = columns.iter().flat_map(|column| column.values(gauge.value));
        let values_shown: Vec<Option<f64>> = values_shown.collect();
        let scale = Span::styled(least_most(&values_shown, gauge.text), Modifier::DIM);
        let mut lines = Vec::new();
        if numbers.width > NUMBER_COLUMNS {
            number_line.push_span(Span::raw("  "));
            number_line.push_span(scale);
            lines.push(number_line);
        } else {
            let scale = Line::from(scale).right_aligned();
            lines.extend([number_line, scale]);
        }
        frame.render_widget(Paragraph::new(lines), without_gap(numbers));
        let bar = |(mean, column): (&Option<f64>, &WatchColumn)| {
            const FULL: f64 = 1_000.0;
            let height = mean.map(|mean| ((mean / top).min(1.0) * FULL).round() as u64);
            SparklineBar::from(height).style(method_colour(column.method))
        };
        let bars: Vec<SparklineBar> = means.iter().zip(columns).map(bar).collect();
        frame.render_widget(Sparkline::default().data(bars).max(1_000), chart);
    }
}

/// Divides a row into the area of the numbers, which is `numbers` columns wide, and the chart.
fn split_row(numbers: u16, row: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Length(numbers), Constraint::Min(0)]).areas(row)
}

/// An area without its last columns, so that there is a gap before the chart.
fn without_gap(place: Rect) -> Rect {
    const GAP: u16 = 3;
    Rect {
        width: place.width.saturating_sub(GAP),
        ..place
    }
}

/// The line below the charts: a mark at each column in which the method changed, and the method's
/// name if it fits before the next mark.
fn change_marks(columns: &[WatchColumn], names: &[WatchMethod], width: usize) -> String {
    let mut line = vec![' '; width];
    let marks: Vec<usize> = (0..columns.len()).filter(|&n| columns[n].changed).collect();
    for (n, &from) in marks.iter().enumerate() {
        let until = marks.get(n + 1).copied().unwrap_or(width);
        let method = columns[from].method.and_then(|row| names.get(row));
        let (short, long) = method.map(brief_names).unwrap_or_default();
        let fits = |text: &&String| text.chars().count() < until - from;
        let text = [long, short].iter().find(fits).cloned();
        let text = text.unwrap_or_default();
        let places = line[from..until].iter_mut();
        for (place, c) in places.zip("^".chars().chain(text.chars())) {
            *place = c;
        }
    }
    line.into_iter().collect()
}

/// Short and long name of a method: `mean` and `mean 50%`, `poll` and `poll +bg` (with background).
fn brief_names(method: &WatchMethod) -> (String, String) {
    let rule = method.method.brief();
    let (rule, params) = rule.split_once(':').unwrap_or((&rule, ""));
    let ratio_suffix = |param: &str| {
        let (name, value) = param.split_once('=')?;
        (name == RATIO).then(|| format!(" {value}"))
    };
    let ratio = params.split(',').find_map(ratio_suffix).unwrap_or_default();
    let background = if method.background { " +bg" } else { "" };
    (rule.to_owned(), format!("{rule}{ratio}{background}"))
}

/// A column of a chart. It holds several intervals if the chart has fewer columns than a minute has
/// intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchColumn {
    numbers: Vec<WatchNumbers>,
    /// The method at the end of the column, as an index into `WatchState::names`. `None` without
    /// intervals, and while the method changes.
    pub method: Option<usize>,
    /// True if the method changed within the column, or at its start.
    pub changed: bool,
}

impl WatchColumn {
    /// The value of each interval; `None` for an interval without one.
    pub(crate) fn values(
        &self,
        value: fn(&WatchNumbers) -> Option<f64>,
    ) -> impl Iterator<Item = Option<f64>> {
        self.numbers.iter().map(value)
    }

    /// The mean of `value` over the intervals that have one; `None` if none has.
    pub(crate) fn mean(&self, value: fn(&WatchNumbers) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.values(value).flatten().collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn add(&mut self, interval: &WatchInterval, previous: Option<&WatchInterval>) {
        self.numbers.push(interval.numbers);
        self.changed |= previous.is_some_and(|previous| previous.method != interval.method);
        self.method = interval.method;
    }
}

/// The last `width` columns, the newest at the right, padded with empty columns at the left. A
/// column holds so many intervals that all columns hold `least` or more.
pub(crate) fn to_columns(shown: &ShownIntervals, width: usize, least: usize) -> Vec<WatchColumn> {
    let per_column = least.div_ceil(width.max(1)).max(1);
    let mut columns: Vec<WatchColumn> = Vec::new();
    let mut last_group = None;
    for (n, interval) in shown.intervals.iter().enumerate() {
        // Intervals are grouped by their number since the start, so that a column keeps its
        // intervals while it moves to the left.
        let group = (shown.first_number + n as u64) / per_column as u64;
        if last_group != Some(group) {
            columns.push(WatchColumn::default());
            last_group = Some(group);
        }
        let previous = n.checked_sub(1).map(|n| &shown.intervals[n]);
        if let Some(column) = columns.last_mut() {
            column.add(interval, previous);
        }
    }
    columns.drain(..columns.len().saturating_sub(width));
    let mut padded = vec![WatchColumn::default(); width - columns.len()];
    padded.append(&mut columns);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(first_number: u64, count: usize, changes_at: usize) -> ShownIntervals {
        let interval = |n: usize| {
            let mut interval = WatchInterval {
                method: Some(usize::from(n >= changes_at)),
                ..WatchInterval::default()
            };
            interval.numbers.rates.iops = Some(n as f64);
            interval
        };
        let intervals = (0..count).map(interval).collect();
        ShownIntervals {
            first_number,
            intervals,
            ..ShownIntervals::default()
        }
    }

    fn values(columns: &[WatchColumn]) -> Vec<Option<f64>> {
        columns.iter().map(|c| c.mean(|n| n.rates.iops)).collect()
    }

    #[test]
    fn the_newest_stands_to_the_right() {
        let few = to_columns(&shown(0, 2, 1), 4, 3);
        assert_eq!(values(&few), [None, None, Some(0.0), Some(1.0)]);
        let changed = few.iter().map(|c| c.changed);
        assert!(changed.eq([false, false, false, true]));
        let many = to_columns(&shown(0, 6, 9), 4, 3);
        assert_eq!(values(&many), [2.0, 3.0, 4.0, 5.0].map(Some));
        assert!(many.iter().all(|c| !c.changed));
    }

    /// At least six intervals on three columns make two intervals per column. The first of the two
    /// has an even number, counted from the start.
    #[test]
    fn several_intervals_share_a_column() {
        let pairs = to_columns(&shown(10, 4, 3), 3, 6);
        assert_eq!(values(&pairs), [None, Some(0.5), Some(2.5)]);
        assert!(pairs[2].changed && !pairs[1].changed && pairs[2].method == Some(1));
        let from_odd = to_columns(&shown(11, 4, 9), 3, 6);
        assert_eq!(values(&from_odd), [0.0, 1.5, 3.0].map(Some));
    }

    #[test]
    fn no_room_is_no_column() {
        assert!(to_columns(&shown(0, 4, 9), 0, 60).is_empty());
        let none = to_columns(&ShownIntervals::default(), 2, 60);
        assert!(none.iter().all(|c| c.method.is_none()));
    }
}
