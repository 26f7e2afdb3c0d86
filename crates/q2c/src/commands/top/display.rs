//! What `q2c top` shows while it runs: a view that fills the screen and takes keys, or lines.

use crate::commands::capture::CaptureWatcher;
use crate::full_screen::FullScreen;
use crate::output::{height, print_line, say, screen};
use crate::stream::MetricsStream;
use q2c_analyze::{LiveAnalysis, RecorderCounts};
use q2c_capture::{Missing, Recorder};
use q2c_model::Fault;
use q2c_report::prometheus::LiveMetrics;
use q2c_report::terminal::{LiveView, live_head, live_line};
use q2c_result::live::LiveInterval;
use q2c_trace::recording::RecordedIo;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Fewest columns of a terminal that shows the view.
const MIN_VIEW_COLUMNS: u16 = 60;
/// Intervals in the view's history, more than most terminals have columns.
const MAX_HISTORY: usize = 600;

/// Where the intervals are shown.
pub(super) enum TopForm {
    /// The whole screen, which is drawn again and again.
    Screen(FullScreen),
    /// A line for each interval.
    Lines {
        /// True if the lines go to stderr, because stdout is reserved for the result.
        to_stderr: bool,
    },
}

impl TopForm {
    /// Takes over the screen if there is one and stdout is not reserved for the result. Else prints
    /// the head of the lines.
    pub(super) fn open(to_stderr: bool, title: &str) -> Result<Self, Fault> {
        let is_wide = screen().width >= MIN_VIEW_COLUMNS;
        if !to_stderr && is_wide && FullScreen::is_possible() {
            return FullScreen::take("send the output through a pipe").map(TopForm::Screen);
        }
        say(title);
        print_line(&live_head(), to_stderr)?;
        Ok(TopForm::Lines { to_stderr })
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TopKey {
    Quit,
    /// Ends the capture as SIGINT does.
    Interrupt,
    Pause,
    Disk {
        next: bool,
    },
    /// Draws the screen again, as its size has changed.
    Redraw,
}

/// The key of an event; `None` for other keys and for key releases.
fn top_key(event: &Event) -> Option<TopKey> {
    let key = match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        Event::Resize(..) => return Some(TopKey::Redraw),
        _ => return None,
    };
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(TopKey::Interrupt);
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Some(TopKey::Quit),
        KeyCode::Char(' ' | 'p') => Some(TopKey::Pause),
        KeyCode::Tab | KeyCode::Down => Some(TopKey::Disk { next: true }),
        KeyCode::BackTab | KeyCode::Up => Some(TopKey::Disk { next: false }),
        _ => None,
    }
}

/// The intervals so far, and what of them is shown.
#[derive(Default)]
struct TopState {
    history: Vec<LiveInterval>,
    /// The history at the moment of a pause; `None` if there is no pause.
    frozen: Option<Vec<LiveInterval>>,
    /// The disk that is shown; `None` for all of them.
    disk: Option<String>,
}

impl TopState {
    fn add(&mut self, interval: LiveInterval) {
        if self.history.len() == MAX_HISTORY {
            self.history.drain(..MAX_HISTORY / 2);
        }
        self.history.push(interval);
    }

    fn toggle_pause(&mut self) {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(self.history.clone()),
        };
    }

    /// Shows the next disk or the one before. Before the first one come all disks.
    fn choose_disk(&mut self, next: bool) {
        let disks = self.history.last().map(|last| last.disks.keys());
        let mut choices: Vec<Option<String>> = vec![None];
        choices.extend(disks.into_iter().flatten().cloned().map(Some));
        let chosen = choices.iter().position(|disk| *disk == self.disk);
        let step = if next { 1 } else { choices.len() - 1 };
        let index = (chosen.unwrap_or(0) + step) % choices.len();
        self.disk = choices.swap_remove(index);
    }

    /// The keys that do something now.
    fn footer(&self) -> String {
        let pause = if self.frozen.is_some() {
            "PAUSED, space: go on"
        } else {
            "space: pause"
        };
        let has_disks = self
            .history
            .last()
            .is_some_and(|last| !last.disks.is_empty());
        let disk = if has_disks {
            "   tab, up, down: disk"
        } else {
            ""
        };
        format!("q: quit   {pause}{disk}")
    }

    fn text(&self, title: &str) -> String {
        let view = LiveView {
            title,
            intervals: self.frozen.as_ref().unwrap_or(&self.history),
            disk: self.disk.as_deref(),
            footer: &self.footer(),
        };
        view.text(screen(), height())
    }
}

pub(super) struct LiveDisplay<'a> {
    title: String,
    form: TopForm,
    begun: Instant,
    analysis: LiveAnalysis,
    state: TopState,
    stream: MetricsStream<LiveMetrics>,
    stop: &'a AtomicBool,
}

impl<'a> LiveDisplay<'a> {
    pub(super) fn new(
        title: String,
        form: TopForm,
        analysis: LiveAnalysis,
        stream: MetricsStream<LiveMetrics>,
        stop: &'a AtomicBool,
    ) -> Self {
        LiveDisplay {
            title,
            form,
            begun: Instant::now(),
            analysis,
            state: TopState::default(),
            stream,
            stop,
        }
    }

    /// Outputs an interval. Returns false if the reader has closed the pipe.
    fn show(&mut self, interval: LiveInterval) -> Result<bool, Fault> {
        let is_read = self.stream.tell(&interval)?;
        match &self.form {
            TopForm::Screen(screen) => {
                self.state.add(interval);
                screen.show(&self.state.text(&self.title))?;
                Ok(is_read)
            }
            TopForm::Lines { to_stderr } => {
                Ok(print_line(&live_line(&interval), *to_stderr)? && is_read)
            }
        }
    }

    /// Does what the keys ask for. Returns false if the user wants to quit.
    fn obey_keys(&mut self) -> Result<bool, Fault> {
        let TopForm::Screen(screen) = &self.form else {
            return Ok(true);
        };
        let keys: Vec<TopKey> = screen.events()?.iter().filter_map(top_key).collect();
        for key in &keys {
            match key {
                TopKey::Quit => return Ok(false),
                TopKey::Interrupt => self.stop.store(true, Ordering::Release),
                TopKey::Pause => self.state.toggle_pause(),
                TopKey::Disk { next } => self.state.choose_disk(*next),
                TopKey::Redraw => {}
            }
        }
        if !keys.is_empty() {
            screen.show(&self.state.text(&self.title))?;
        }
        Ok(true)
    }
}

impl CaptureWatcher for LiveDisplay<'_> {
    fn io(&mut self, io: &RecordedIo) {
        self.analysis.take(io);
    }

    fn update(&mut self, recorder: &Recorder) -> Result<bool, Fault> {
        if !self.obey_keys()? {
            return Ok(false);
        }
        let now = self.begun.elapsed();
        if !self.analysis.is_due(now) {
            return Ok(true);
        }
        let Missing { lost, unqueued, .. } = recorder.missing()?;
        let counts = RecorderCounts {
            in_flight: recorder.in_flight()?,
            lost,
            unqueued,
        };
        let interval = self.analysis.end_interval(now, counts);
        self.show(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> Option<TopKey> {
        top_key(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    fn interval(end_s: f64) -> LiveInterval {
        let disk = |name: &str| (name.to_owned(), LiveInterval::default());
        LiveInterval {
            end_s,
            disks: [disk("sda"), disk("sdb")].into(),
            ..LiveInterval::default()
        }
    }

    #[test]
    fn every_key_does_what_the_last_line_says() {
        let plain = |code| press(code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::Char('q')), Some(TopKey::Quit));
        assert_eq!(plain(KeyCode::Char(' ')), Some(TopKey::Pause));
        for (code, next) in [
            (KeyCode::Tab, true),
            (KeyCode::Down, true),
            (KeyCode::Up, false),
            (KeyCode::BackTab, false),
        ] {
            assert_eq!(plain(code), Some(TopKey::Disk { next }));
        }
        let control = press(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(control, Some(TopKey::Interrupt));
        assert_eq!(top_key(&Event::Resize(80, 24)), Some(TopKey::Redraw));
        assert_eq!(plain(KeyCode::Char('c')), None);
        assert_eq!(press(KeyCode::Char('q'), KeyModifiers::CONTROL), None);
    }

    #[test]
    fn disks_are_chosen_in_turns() {
        let mut state = TopState::default();
        state.choose_disk(true);
        assert_eq!(state.disk, None);
        state.add(interval(1.0));
        let mut chosen = |next| {
            state.choose_disk(next);
            state.disk.clone().unwrap_or_default()
        };
        let forth = [true; 3].map(&mut chosen);
        assert_eq!(forth, ["sda", "sdb", ""]);
        let back = [false; 3].map(&mut chosen);
        assert_eq!(back, ["sdb", "sda", ""]);
    }

    /// A pause keeps the screen, and the capture goes on.
    #[test]
    fn a_pause_keeps_what_is_shown() {
        let mut state = TopState::default();
        let shown = |state: &TopState| state.text("title").lines().next().map(str::to_owned);
        state.add(interval(1.0));
        state.toggle_pause();
        let before = shown(&state);
        state.add(interval(2.0));
        assert_eq!(shown(&state), before);
        assert!(state.footer().contains("PAUSED"));
        state.toggle_pause();
        assert_ne!(shown(&state), before);
        assert_eq!(state.history.len(), 2);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut state = TopState::default();
        (0..2_000).for_each(|n| state.add(interval(f64::from(n))));
        assert!(state.history.len() <= MAX_HISTORY);
        assert_eq!(state.history.last().map(|last| last.end_s), Some(1999.0));
    }
}
