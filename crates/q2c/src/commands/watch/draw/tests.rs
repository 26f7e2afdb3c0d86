use super::*;
use crate::commands::watch::display::Action;
use q2c_engine::SleepCounts;
use q2c_engine::measure::PhaseStats;
use q2c_policy::LaneMethod;
use q2c_policy::method::Means;
use q2c_watch::WorkloadInterval;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn head() -> Head {
    Head {
        job: "sim:50us: 4 KiB randread, CPU 1".to_owned(),
        interval: Nanos::from_millis(1_000),
    }
}

/// The lines of the screen, without trailing blanks.
fn screen(state: &WatchState, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, &head())).unwrap();
    let cells = terminal.backend().buffer().content();
    let line = |row: &[ratatui::buffer::Cell]| {
        let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    };
    cells.chunks(usize::from(width)).map(line).collect()
}

fn state(background: bool) -> WatchState {
    let rule = |text: &str| LaneMethod::Hybrid(text.parse().unwrap());
    WatchState::new(vec![LaneMethod::Poll, rule("mean:50%,100ms")], background)
}

/// A second of one lane with this number of I/Os.
fn lane(ios: u64) -> PhaseStats {
    PhaseStats {
        lanes: 1,
        wall_ns: 1e9,
        ios,
        ..PhaseStats::default()
    }
}

/// Adds a second under the order `order`, with `ios` I/Os of 50 us. Hybrid polling handled
/// `handled` of them: each was asked to sleep 20 us and slept 25 us, and a quarter missed.
fn add_second(state: &mut WatchState, order: u64, ios: u64, handled: u64) {
    let begin = state.last_interval().map_or(0, |i| (i.end_s * 1e9) as u64);
    state.add_interval(&WorkloadInterval {
        span: (begin, begin + 1_000_000_000),
        order: Some(order),
        foreground: PhaseStats {
            cpu_ns: 500_000_000,
            voluntary: handled,
            sleeps: SleepCounts {
                handled,
                slept: handled,
                misses: handled / 4,
                asked_ns: handled * 20_000,
                slept_ns: handled * 25_000,
                ..SleepCounts::default()
            },
            latencies: vec![50_000.0; ios as usize],
            ..lane(ios)
        },
        polls_by: Some(Means::Ring),
        ..WorkloadInterval::default()
    });
}

/// Three seconds of polling at 1000, 2000 and 2000 IOPS, then two seconds of `mean` at 1500 and
/// 1600.
fn five_seconds() -> WatchState {
    let mut state = state(false);
    [1_000, 2_000, 2_000]
        .into_iter()
        .for_each(|ios| add_second(&mut state, 0, ios, 0));
    state.act(Action::Method { next: true }).unwrap();
    state.note_order(1);
    [1_500, 1_600]
        .into_iter()
        .for_each(|ios| add_second(&mut state, 1, ios, ios));
    state
}

/// Every number is next to its name. The bars are shares of the largest value, or of 100 %. The
/// change of method is marked.
#[test]
fn a_known_state() {
    // The list takes 31 of 112 columns and the numbers 19, so each second of a minute has a column.
    let shown = screen(&five_seconds(), 112, 12);
    let wanted = [
        "sim:50us: 4 KiB randread, CPU 1   every 1.00 s, 5.0 s so far".to_owned(),
        "hybrid:mean:ratio=50%,period=100ms was hybrid (ring)".to_owned(),
    ];
    assert_eq!(shown[..2], wanted, "{shown:#?}");
    let methods = ["  poll  ", "> mean:ratio=50%,period=100ms"];
    assert!((2..).zip(methods).all(|(n, m)| shown[n].starts_with(m)));
    let gauges = [
        ("IOPS", "1.60 K", "▄██▆▆"),
        ("missed", "25.0 %", "   ▂▂"),
        ("asked", "20.0 us", "   ██"),
        ("slept", "25.0 us", "   ██"),
        ("CPU", "50.0 %", "▄▄▄▄▄"),
        ("p50", "50.0 us", "█████"),
        ("p99", "50.0 us", "█████"),
    ];
    for (line, (name, value, bars)) in shown[2..].iter().zip(gauges) {
        let right: String = line.chars().skip(31).collect();
        assert_eq!(&right[..16], format!("{name:<7}{value:>9}"), "{shown:#?}");
        assert!(line.ends_with(bars), "{name}: {shown:#?}");
    }
    let marks = shown[9].trim_start();
    assert_eq!(marks, "^", "there is no room for the name: {shown:#?}");
    assert_eq!(shown[11], HELP);
}

#[test]
fn a_change_further_left_has_its_name() {
    let mut state = five_seconds();
    (0..10).for_each(|_| add_second(&mut state, 1, 1_600, 1_600));
    let shown = screen(&state, 112, 24);
    assert_eq!(shown[22].trim_start(), "^mean 50%", "{shown:#?}");
    // With more lines, the smallest and the largest value are shown.
    let scales = shown.iter().filter(|line| line.contains("..")).count();
    assert_eq!(scales, 7, "{shown:#?}");
    let iops = shown.iter().find(|line| line.starts_with("IOPS"));
    assert!(iops.unwrap().contains("1.00 K..2.00 K"), "{shown:#?}");
}

/// Five methods, a background, and two minutes of seconds, each with another latency.
fn two_minutes() -> WatchState {
    let texts = [
        "poll",
        "interrupt",
        "hybrid:mean:50%,100ms",
        "hybrid:min:70%,10ms",
        "hybrid:pas",
    ];
    let methods = texts.map(|text| text.parse().unwrap()).to_vec();
    let mut state = WatchState::new(methods, true);
    for n in 0..120_u64 {
        if n == 100 {
            state.act(Action::Method { next: true }).unwrap();
            state.note_order(1);
        }
        let ios = 10_000 + n % 7 * 500;
        state.add_interval(&WorkloadInterval {
            span: (n * 1_000_000_000, (n + 1) * 1_000_000_000),
            order: Some(u64::from(n >= 100)),
            foreground: PhaseStats {
                cpu_ns: 900_000_000,
                latencies: (0..ios).map(|io| (40_000 + io * io / 8) as f64).collect(),
                ..lane(ios)
            },
            background: lane(850),
            polls_by: Some(Means::Ring),
            ..WorkloadInterval::default()
        });
    }
    state
}

#[test]
fn a_histogram_stands_beside_the_list() {
    let state = two_minutes();
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        for (width, height) in [(80, 24), (120, 40)] {
            let shown = screen(&state, width, height).join("\n");
            insta::assert_snapshot!(format!("watch_at_{width}x{height}"), shown);
        }
    });
}

/// Nothing is missing on an ordinary terminal, even with the charts of late time.
#[test]
fn everything_is_there_at_80_by_24() {
    let mut state = two_minutes();
    state.add_interval(&WorkloadInterval {
        span: (120_000_000_000, 121_000_000_000),
        order: Some(1),
        foreground: PhaseStats {
            latencies: vec![50e3, 60e3, 700e3],
            ..lane(3)
        },
        late: Some(q2c_result::late::LateNumbers::default()),
        ..WorkloadInterval::default()
    });
    let shown = screen(&state, 80, 24);
    let text = shown.join("\n");
    let gauges = "IOPS ,missed ,asked ,slept ,CPU ,p50 ,p99 ,device ,overslp ,wake-up ,beside ";
    let others = "> interrupt,pas,background on,U2C from,share,..";
    for word in gauges.split(',').chain(others.split(',')) {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(shown[23], HELP);
    let share_sum = shown[2..].iter().fold(0.0, |sum, line| {
        let share = line.split(" %").next().unwrap_or("");
        let share = share.rsplit(' ').next().unwrap_or("").parse::<f64>();
        match share {
            Ok(share) if line.contains(" us  ") => sum + share,
            _ => sum,
        }
    });
    assert!((share_sum - 100.0_f64).abs() < 0.5, "{share_sum}: {text}");
}

#[test]
fn the_states_are_told() {
    let mut quiet = state(true);
    let shown = screen(&quiet, 100, 16);
    assert_eq!(shown[1], "waiting for the first interval");
    assert!(shown.iter().any(|line| line.starts_with("  background on")));
    let behind = shown.iter().any(|line| line.contains("behind"));
    assert!(behind, "{shown:#?}");
    add_second(&mut quiet, 0, 100, 0);
    quiet.act(Action::Pause);
    quiet.act(Action::Background);
    quiet.note_order(1);
    add_second(&mut quiet, 1, 100, 0);
    let shown = screen(&quiet, 100, 16);
    assert!(shown[0].ends_with(" PAUSED"), "{shown:#?}");
    assert_eq!(shown[1], "poll was poll (ring); background at work");
    let off = |line: &String| line.starts_with("  background off");
    assert!(shown.iter().any(off));
    quiet.act(Action::Ratio { up: true });
    assert_eq!(screen(&quiet, 100, 16)[15], "this method has no ratio");
    quiet.act(Action::Pause);
    let now = "poll was poll (ring); background at rest";
    assert_eq!(screen(&quiet, 100, 16)[1], now);
}

#[test]
fn no_size_is_too_small() {
    let state = five_seconds();
    for (width, height) in [(1, 1), (5, 2), (20, 4), (40, 5), (300, 100)] {
        assert_eq!(screen(&state, width, height).len(), usize::from(height));
    }
}
