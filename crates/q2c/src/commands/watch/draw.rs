//! Draws the screen, which depends only on the state of the watch and on [`Head`].

mod charts;

use super::display::HELP;
use super::state::WatchState;
use charts::{Charts, MAX_CHART_LINES};
use q2c_model::Nanos;
use q2c_policy::{LaneMethod, Method};
use q2c_report::mode::label;
use q2c_report::terminal::latency_bars;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// The constant facts on the screen.
pub(crate) struct Head {
    /// Target, block size, pattern and CPUs as text.
    pub job: String,
    pub interval: Nanos,
}

/// Fewest columns and lines that fit a histogram beside the list of methods.
const MIN_ROOMY_SIZE: (u16, u16) = (72, 6);
/// Lines of the list and the histogram above the charts on a tall screen.
const LINES_ABOVE_CHARTS: u16 = 12;
const COLOURS: [Color; 6] = [
    Color::Cyan,
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::Blue,
    Color::Red,
];

/// Draws the whole screen. The last line shows the help, or a note to the user.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &WatchState, head: &Head) {
    let line = Constraint::Length(1);
    let rows = [line, line, Constraint::Min(0), line];
    let [top, now_line, body, help] = Layout::vertical(rows).areas(frame.area());
    let list = method_list(state);
    let charts = Charts::new(state, head, frame.area().width);
    frame.render_widget(title_line(state, head), top);
    frame.render_widget(method_line(state, now_line.width), now_line);
    match lines_above_charts(body, list.len() as u16, charts.count()) {
        Some(lines_above) => draw_roomy(frame, state, list, &charts, (lines_above, body)),
        None => {
            let [left, right] = split_beside_list(&list, body);
            frame.render_widget(Paragraph::new(list), left);
            charts.draw(frame, right, false);
        }
    }
    let last_line = match state.note.as_str() {
        "" => Line::styled(HELP, Modifier::DIM),
        note => Line::styled(note, Modifier::REVERSED),
    };
    frame.render_widget(last_line, help);
}

/// The number of lines for the list and the histogram above the charts. `None` if there is no room
/// above them, so that the list goes beside the charts.
fn lines_above_charts(body: Rect, list_lines: u16, gauges: u16) -> Option<u16> {
    let (min_columns, min_lines) = MIN_ROOMY_SIZE;
    let height_of_charts = |chart_lines| gauges * chart_lines + 1;
    let min_height = list_lines.max(min_lines) + height_of_charts(1);
    if body.width < min_columns || body.height < min_height {
        return None;
    }
    let reserved = list_lines.max(LINES_ABOVE_CHARTS) + 1;
    let chart_lines = (body.height.saturating_sub(reserved) / gauges).clamp(1, MAX_CHART_LINES);
    Some(body.height - height_of_charts(chart_lines))
}

fn draw_roomy(
    frame: &mut Frame<'_>,
    state: &WatchState,
    list: Vec<Line<'static>>,
    charts: &Charts,
    (lines_above, body): (u16, Rect),
) {
    let parts = [Constraint::Length(lines_above), Constraint::Min(0)];
    let [above, below] = Layout::vertical(parts).areas(body);
    let [left, right] = split_beside_list(&list, above);
    frame.render_widget(Paragraph::new(list), left);
    let (width, height) = (usize::from(right.width), usize::from(right.height));
    let bars = latency_bars("U2C", &state.shown(1).latency, width, height);
    let bars: Vec<Line<'_>> = bars.into_iter().map(Line::raw).collect();
    frame.render_widget(Paragraph::new(bars), right);
    charts.draw(frame, below, true);
}

fn split_beside_list(list: &[Line<'_>], area: Rect) -> [Rect; 2] {
    let widest = list.iter().map(Line::width).max().unwrap_or(0) as u16 + 2;
    let halves = [
        Constraint::Length(widest.min(area.width / 2)),
        Constraint::Min(0),
    ];
    Layout::horizontal(halves).areas(area)
}

fn title_line(state: &WatchState, head: &Head) -> Line<'static> {
    let end = state.last_interval().map_or(0.0, |last| last.end_s);
    let job = Span::styled(head.job.clone(), Modifier::BOLD);
    let every = format!("   every {}, {end:.1} s so far", head.interval);
    let mut line = Line::from(vec![job, Span::raw(every)]);
    if state.is_paused() {
        line.push_span(Span::raw("   "));
        line.push_span(Span::styled(" PAUSED ", Modifier::REVERSED));
    }
    line
}

/// The line with the method in force and what the kernel really did. If it is wider than `width`,
/// the state of the background is left out, since the list shows it.
fn method_line(state: &WatchState, width: u16) -> Line<'static> {
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
    let settling = if last.settled { "" } else { " (settling)" };
    let was = last.was.as_ref().map_or(String::new(), label);
    let method = Span::styled(names[row].method.to_string(), method_colour(Some(row)));
    let line = |background| {
        let text = format!("{settling} was {was}{background}");
        Line::from(vec![method.clone(), Span::raw(text)])
    };
    let whole = line(background);
    if whole.width() > usize::from(width) {
        line("")
    } else {
        whole
    }
}

/// The methods to choose from, with a mark at the selected one, and the state of the background.
fn method_list(state: &WatchState) -> Vec<Line<'static>> {
    let line = |(n, method): (usize, &LaneMethod)| {
        let (mark, modifier) = if n == state.selected {
            ("> ", Modifier::BOLD)
        } else {
            ("  ", Modifier::empty())
        };
        let name = Method::from(method.clone()).brief();
        let style = method_colour(state.row_of_method(method)).add_modifier(modifier);
        Line::from(vec![Span::raw(mark), Span::styled(name, style)])
    };
    let mut lines: Vec<Line<'_>> = state.methods.iter().enumerate().map(line).collect();
    if let Some(on) = state.background {
        lines.push(Line::raw(""));
        let word = if on { "on" } else { "off" };
        lines.push(Line::raw(format!("  background {word}")));
    }
    lines
}

fn method_colour(row: Option<usize>) -> Style {
    let style = Style::new();
    row.map_or(style, |row| style.fg(COLOURS[row % COLOURS.len()]))
}

#[cfg(test)]
mod tests;
