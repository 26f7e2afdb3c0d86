//! Draws the screen. It depends on the state of the watch and on [`Head`] alone.

use super::columns::{Column, columns};
use super::keys::HELP;
use super::state::{RATIO, Shown, WatchState};
use q2c_model::Nanos;
use q2c_policy::{LaneMethod, Method};
use q2c_report::mode::words;
use q2c_report::terminal::{GAUGES, Gauge, LATE_GAUGES};
use q2c_result::watch::{WatchMethod, WatchNumbers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, SparklineBar};

/// The facts on the screen that do not change during the watch.
pub struct Head {
    /// Target, block size, pattern and CPUs in words.
    pub job: String,
    /// Length of an interval.
    pub interval: Nanos,
}

/// A chart shows at least this many seconds. Where columns are few, several intervals share one.
const SHOWN_S: f64 = 60.0;
/// Width of the name and the number of a gauge, columns.
const NUMBERS: u16 = 19;
const COLOURS: [Color; 6] = [
    Color::Cyan,
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::Blue,
    Color::Red,
];

static BEHIND: Gauge = Gauge {
    name: "behind",
    value: |n: &WatchNumbers| n.background_iops,
    text: GAUGES[0].text,
    top: None,
};

/// Draws the whole screen. The last line has the help, or a note to the user.
pub fn draw(frame: &mut Frame<'_>, state: &WatchState, head: &Head) {
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [top, now_line, body, help] = Layout::vertical(rows).areas(frame.area());
    let list = list(state);
    let widest = list.iter().map(Line::width).max().unwrap_or(0) as u16 + 2;
    let halves = [
        Constraint::Length(widest.min(body.width / 2)),
        Constraint::Min(0),
    ];
    let [left, right] = Layout::horizontal(halves).areas(body);
    frame.render_widget(title(state, head), top);
    frame.render_widget(now(state), now_line);
    frame.render_widget(Paragraph::new(list), left);
    charts(frame, state, head, right);
    let below = match state.note.as_str() {
        "" => Line::styled(HELP, Modifier::DIM),
        note => Line::styled(note, Modifier::REVERSED),
    };
    frame.render_widget(below, help);
}

fn title(state: &WatchState, head: &Head) -> Line<'static> {
    let end = state.last().map_or(0.0, |last| last.end_s);
    let job = Span::styled(head.job.clone(), Modifier::BOLD);
    let every = format!("   every {}, {end:.1} s so far", head.interval);
    let mut line = Line::from(vec![job, Span::raw(every)]);
    if state.paused() {
        line.push_span(Span::raw("   "));
        line.push_span(Span::styled(" PAUSED ", Modifier::REVERSED));
    }
    line
}

/// The line that names the method in force, and what the kernel really did.
fn now(state: &WatchState) -> Line<'static> {
    let shown = state.shown(1);
    let names = state.names();
    let Some(last) = shown.intervals.last() else {
        return Line::raw("waiting for the first interval");
    };
    let Some(row) = last.method else {
        return Line::raw("changing");
    };
    let background = match (state.background, names[row].background) {
        (None, _) => "",
        (_, true) => "; background at work",
        (_, false) => "; background at rest",
    };
    let settling = if last.settled { "" } else { "; settling" };
    let was = last.was.as_ref().map_or(String::new(), words);
    let method = Span::styled(names[row].method.to_string(), colour(Some(row)));
    let was = format!(" was {was}{background}{settling}");
    Line::from(vec![method, Span::raw(was)])
}

/// The methods to choose among with a mark at the selected one, and whether the background works.
fn list(state: &WatchState) -> Vec<Line<'static>> {
    let line = |(n, method): (usize, &LaneMethod)| {
        let (mark, weight) = match n == state.selected {
            true => ("> ", Modifier::BOLD),
            false => ("  ", Modifier::empty()),
        };
        let name = Method::from(method.clone()).brief();
        let style = colour(state.row_of_method(method)).add_modifier(weight);
        Line::from(vec![Span::raw(mark), Span::styled(name, style)])
    };
    let mut lines: Vec<Line<'_>> = state.methods.iter().enumerate().map(line).collect();
    if let Some(on) = state.background {
        lines.push(Line::raw(""));
        let word = if on {
            "  background on"
        } else {
            "  background off"
        };
        lines.push(Line::raw(word));
    }
    lines
}

fn colour(row: Option<usize>) -> Style {
    row.map_or(Style::new(), |row| {
        Style::new().fg(COLOURS[row % COLOURS.len()])
    })
}

fn charts(frame: &mut Frame<'_>, state: &WatchState, head: &Head, area: Rect) {
    let behind = state.background.is_some().then_some(&BEHIND);
    let captured = state.last().is_some_and(|last| last.numbers.late.is_some());
    let late = LATE_GAUGES.iter().filter(|_| captured);
    let gauges: Vec<&Gauge> = GAUGES.iter().chain(late).chain(behind).collect();
    let count = gauges.len() as u16;
    let height = (area.height.saturating_sub(1) / count).clamp(1, 4);
    let parts = [Constraint::Max(height * count), Constraint::Length(1)];
    let [above, marks] = Layout::vertical(parts).flex(Flex::Start).areas(area);
    let minute = (SHOWN_S / head.interval.as_secs_f64()).ceil() as usize;
    let shown = state.shown(minute.max(usize::from(area.width)));
    let width = area.width.saturating_sub(NUMBERS);
    let columns = columns(&shown, usize::from(width), minute);
    let rows = gauges.iter().map(|_| Constraint::Length(height));
    let rows = Layout::vertical(rows).split(above);
    for (gauge, row) in gauges.iter().zip(rows.iter()) {
        chart(frame, gauge, &shown, &columns, *row);
    }
    let [_, marks] = beside(marks);
    let changes = changes(&columns, &state.names(), usize::from(width));
    frame.render_widget(Line::raw(changes), marks);
}

/// Divides a row into the place of the numbers and that of the chart.
fn beside(row: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Length(NUMBERS), Constraint::Min(0)]).areas(row)
}

fn chart(frame: &mut Frame<'_>, gauge: &Gauge, shown: &Shown, columns: &[Column], row: Rect) {
    let [numbers, chart] = beside(row);
    let last = shown.intervals.last();
    let value = last.map_or("-".to_owned(), |last| gauge.show(&last.numbers));
    let values: Vec<Option<f64>> = columns.iter().map(|c| c.mean(gauge.value)).collect();
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let top = gauge.top.unwrap_or(most).max(f64::MIN_POSITIVE);
    let mut lines = vec![Line::from(vec![
        Span::raw(format!("{:<7}", gauge.name)),
        Span::styled(format!("{value:>9}"), Modifier::BOLD),
    ])];
    if gauge.top.is_none() && most > 0.0 {
        let most = format!("{:>16}", format!("top {}", (gauge.text)(most)));
        lines.push(Line::styled(most, Modifier::DIM));
    }
    frame.render_widget(Paragraph::new(lines), numbers);
    let bar = |(value, column): (&Option<f64>, &Column)| {
        const FULL: f64 = 1_000.0;
        let height = value.map(|value| ((value / top).min(1.0) * FULL).round() as u64);
        SparklineBar::from(height).style(colour(column.method))
    };
    let bars: Vec<SparklineBar> = values.iter().zip(columns).map(bar).collect();
    frame.render_widget(Sparkline::default().data(bars).max(1_000), chart);
}

/// The line below the charts: a mark at each column in which the method changed, and the method's
/// name where it fits before the next mark.
fn changes(columns: &[Column], names: &[WatchMethod], width: usize) -> String {
    let mut line = vec![' '; width];
    let at: Vec<usize> = (0..columns.len()).filter(|&n| columns[n].changed).collect();
    for (n, &from) in at.iter().enumerate() {
        let until = at.get(n + 1).copied().unwrap_or(width);
        let method = columns[from].method.and_then(|row| names.get(row));
        let (rule, whole) = method.map(short).unwrap_or_default();
        let fits = |text: &&String| text.chars().count() < until - from;
        let text = [whole, rule].iter().find(fits).cloned();
        let text = text.unwrap_or_default();
        for (place, c) in line[from..until]
            .iter_mut()
            .zip("^".chars().chain(text.chars()))
        {
            *place = c;
        }
    }
    line.into_iter().collect()
}

/// Short and long name of a method: `mean` and `mean 50%`, `poll` and `poll +bg` (with background).
fn short(method: &WatchMethod) -> (String, String) {
    let rule = method.method.brief();
    let (rule, params) = rule.split_once(':').unwrap_or((&rule, ""));
    let of = |param: &str| {
        let (name, value) = param.split_once('=')?;
        (name == RATIO).then(|| format!(" {value}"))
    };
    let ratio = params.split(',').find_map(of).unwrap_or_default();
    let background = if method.background { " +bg" } else { "" };
    (rule.to_owned(), format!("{rule}{ratio}{background}"))
}

#[cfg(test)]
mod tests;
