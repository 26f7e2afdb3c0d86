//! A recorded program as the workload of `q2c tune`, in words: what it did, what the workload
//! copies, how alike the two are, and what the answer is worth to the program.

use crate::analysis::latency_name;
use crate::label;
use crate::note::{Note, ReportField, ReportTable, row};
use crate::phrase::{counted, joined, listed, listed_if_any, when};
use crate::quantity::{count, counted_if_any, duration, iops, number, percent, seconds};
use q2c_model::{Bytes, Direction, Layer};
use q2c_result::program::{
    AnswerWorth, CopiedWorkload, FigureLikeness, KindOfIo, LikenedFigure, Likeness, NoThink,
    NotCopied, Program, ProgramPattern, WorthCaveat,
};
use q2c_result::tune::PerCore;

/// The program and its workload in a line.
#[must_use]
pub fn summary(program: &Program) -> String {
    let pattern = &program.pattern;
    format!(
        "{}: {} reads and writes in {}; the workload: {}",
        program_name(program),
        count(pattern.ios),
        seconds(pattern.seconds),
        workload(&program.copied)
    )
}

fn program_name(program: &Program) -> String {
    let recording = &program.recording;
    let path = recording.path.clone();
    path.unwrap_or_else(|| recording.command.join(" "))
}

pub(crate) fn program_notes(program: &Program) -> Vec<Note> {
    let mut notes = vec![Note::plain("program", activity(program))];
    notes.extend(program.pattern.kinds.iter().map(|kind| {
        let heading = format!("its {}", direction_name(kind.direction));
        Note::plain(&heading, kind_text(kind, program.pattern.layer))
    }));
    notes.push(Note::plain("its submitters", submitters(&program.pattern)));
    notes.extend(Note::plains("left out", left_out_text(program)));
    notes.push(Note::plain("workload", workload(&program.copied)));
    let not_copied = program.copied.not_copied.iter().map(not_copied_text);
    notes.extend(Note::cautions("not copied", not_copied));
    notes
}

/// Notes on the worth of the answer to the program, with caveats.
pub(crate) fn worth_notes(program: &Program) -> Vec<Note> {
    let mut notes = Vec::new();
    for worth in &program.worth {
        let heading = format!("worth to the program at {}", worth.bs);
        notes.push(Note::plain(&heading, worth_text(worth)));
        notes.extend(Note::cautions("caveat", worth.caveats.iter().map(caveat)));
    }
    notes
}

/// Program and workload side by side, with a row for each figure of each block size.
pub(crate) fn likeness_table(program: &Program) -> ReportTable {
    let rows = program.likeness.iter().flat_map(|like| {
        let row = move |likened: &FigureLikeness| figure_row(program, like, likened);
        like.figures.iter().map(row)
    });
    ReportTable::new("figure | program | workload | ratio", rows)
        .legend(likeness_legend(program.copied.think_ns.is_some()))
}

fn likeness_legend(thinks: bool) -> &'static str {
    if thinks {
        "The workload's figures are medians of the trials by the method that the program is taken to use. Rates and I/Os \
             in flight are over all time, think times included: the program's are those of as many submitters as there \
             are jobs, over their time, pauses included. The workload's I/Os in flight follow from its rate and mean latency. Its latencies are U2C, from \
             submission to reaping, and longer than Q2C, from queued to complete, by submission and wake-up."
    } else {
        "The workload's figures are medians of the trials by the method that the program is taken to use. I/Os in \
             flight of the workload are set. Its latencies are U2C, from submission to reaping, and longer than Q2C, \
             from queued to complete, by submission and wake-up; where Q2C was recorded, the program's rate while in \
             flight leaves both out, and the workload's has them."
    }
}

fn figure_row(program: &Program, like: &Likeness, likened: &FigureLikeness) -> Vec<ReportField> {
    let (jobs, think_ns) = (program.copied.jobs, program.copied.think_ns);
    let layer = latency_name(program.pattern.layer);
    let (what, show): (String, fn(f64) -> String) = match likened.figure {
        LikenedFigure::Iops if think_ns.is_some() => match jobs {
            1 => ("IOPS of one submitter".to_owned(), iops),
            _ => (format!("IOPS of {jobs} submitters"), iops),
        },
        LikenedFigure::Iops => (format!("IOPS while {jobs} in flight"), iops),
        LikenedFigure::Size => ("mean size".to_owned(), |v| {
            Bytes(v.round() as u64).in_short()
        }),
        LikenedFigure::InFlight => ("in flight".to_owned(), number),
        LikenedFigure::LatencyP50 => (format!("p50, {layer} beside U2C"), duration),
        LikenedFigure::LatencyP99 => (format!("p99, {layer} beside U2C"), duration),
    };
    let by_method = format!("by {}", label::method(&like.by.0));
    let verdict = if likened.like { "like" } else { "unlike" };
    row![
        format!("{}: {what}", like.bs),
        show(likened.program),
        ReportField::stacked(show(likened.workload), by_method),
        ReportField::stacked(number(likened.ratio()), verdict),
    ]
}

fn activity(program: &Program) -> String {
    let pattern = &program.pattern;
    let disks = program.recording.disks.as_ref();
    let source = listed([&program.recording.source].into_iter().chain(disks));
    let in_flight = &pattern.in_flight;
    format!(
        "{} ({source}): {} reads and writes in {}, {} per second. Any in flight for {} of it, then {} on average, at \
         most {}",
        program_name(program),
        count(pattern.ios),
        seconds(pattern.seconds),
        iops(pattern.ios as f64 / pattern.seconds),
        percent(in_flight.busy_seconds / pattern.seconds),
        number(in_flight.mean),
        in_flight.most
    )
}

fn kind_text(kind: &KindOfIo, layer: Layer) -> String {
    const MAX_SIZES: usize = 4;
    let share = |ios: u64| percent(ios as f64 / kind.ios as f64);
    let unlisted = kind.sizes.iter().skip(MAX_SIZES);
    let others = unlisted.map(|size| size.ios).sum::<u64>() + kind.other_sizes;
    let sizes = kind.sizes.iter().take(MAX_SIZES);
    let sizes = sizes.map(|size| format!("{} ({})", size.bytes, share(size.ios)));
    let order = match kind.sequential {
        None => "Offsets unknown".to_owned(),
        Some(sequential) => format!("{} in sequence", percent(sequential)),
    };
    format!(
        "{} of {}. {order}, {} in flight while any was. {} p50 {}, p99 {}",
        count(kind.ios),
        listed(sizes.chain((others > 0).then(|| format!("other sizes ({})", share(others))))),
        number(kind.in_flight.mean),
        latency_name(layer),
        duration(kind.latency.p50_ns),
        duration(kind.latency.p99_ns)
    )
}

fn submitters(pattern: &ProgramPattern) -> String {
    let names = pattern.submitters.iter().filter(|s| s.name != "-");
    let share = |ios: u64| percent(ios as f64 / pattern.ios as f64);
    let names = listed_if_any(names.map(|s| format!("{} {}", s.name, share(s.ios))));
    let think = pattern.think.map(|think| {
        let (p50, p99) = (duration(think.p50_ns), duration(think.p99_ns));
        format!(", with a think time of p50 {p50}, p99 {p99}")
    });
    format!(
        "{}{}, with {} in flight each when not idle. Idle for {} of their time{}",
        pattern.lanes,
        names.map(|names| format!(" ({names})")).unwrap_or_default(),
        number(pattern.lane_depth),
        percent(1.0 - pattern.lane_busy),
        think.unwrap_or_default()
    )
}

fn left_out_text(program: &Program) -> Option<String> {
    let counts = program.pattern.left_out;
    counted_if_any(&[
        (counts.other_operations, "flushes, discards and others"),
        (counts.without_end, "without an end"),
        (counts.failed, "failed"),
        (counts.empty, "without data"),
        (counts.other_processes, "of other processes"),
        (counts.other_layer, "of another layer"),
        (program.recording.lost, "lost by the recording"),
    ])
}

fn workload(copied: &CopiedWorkload) -> String {
    let background = copied.background.iter().map(|job| {
        let kind = pattern_name(job.direction, job.random);
        let (bs, depth) = (job.bs, job.depth);
        format!("{kind} of {bs} with {depth} in flight by interrupts")
    });
    let background = joined(background, ", and ");
    let beside_them = when(!background.is_empty(), "; beside them ");
    let think = |ns| format!(" and {} between its I/Os", duration(ns));
    format!(
        "{} of {} by {} with one in flight each{}{beside_them}{background}",
        pattern_name(copied.direction, copied.random),
        listed(&copied.sizes),
        counted(copied.jobs, "job"),
        copied.think_ns.map(think).unwrap_or_default()
    )
}

fn not_copied_text(difference: &NotCopied) -> String {
    match *difference {
        NotCopied::ThinkTime { p50_ns, share, why } => format!(
            "think time ({} of the submitters' time, p50 {}): the jobs submit again at once{}",
            percent(share),
            duration(p50_ns),
            match why {
                NoThink::TooShort => ", since a sleep takes longer",
                NoThink::TooLong => ", since a trial would have too few I/Os",
            }
        ),
        NotCopied::Pauses {
            p50_ns,
            mean_ns,
            share,
        } => format!(
            "pauses ({} of the submitters' time): think times have a median of {} and a mean of {}; the jobs' are the \
             median",
            percent(share),
            duration(p50_ns),
            duration(mean_ns)
        ),
        NotCopied::LaneDepth { depth } => format!(
            "{} in flight of one submitter: each job has one in flight, and there are more jobs instead",
            number(depth)
        ),
        NotCopied::FewerJobs { needed, jobs } => format!(
            "{needed} jobs: there are CPUs for {jobs}; a job by interrupts stands for the other {}",
            needed - jobs.min(needed)
        ),
        NotCopied::OtherSizes { share } => {
            percent(share) + " of the foreground's I/Os, of other sizes"
        }
        NotCopied::RoundedSize { from, to } => format!("{from}: done as {to}"),
        NotCopied::OtherDirection {
            direction,
            share,
            in_flight,
        } => format!(
            "the {}: {} of all I/Os, and {} in flight on average, where a job has at least one",
            direction_name(direction),
            percent(share),
            number(in_flight)
        ),
        NotCopied::BackgroundRate { direction } => format!(
            "the rate of the {}: their job always has as many in flight, as fast as the device is",
            direction_name(direction)
        ),
        NotCopied::OtherOperations { ios } => {
            format!("{} flushes, discards and other operations", count(ios))
        }
        NotCopied::Merged { share } => {
            format!(
                "merging: {} of the I/Os went with others' requests",
                percent(share)
            )
        }
        NotCopied::Order { sequential } => format!(
            "the order: {} of the I/Os are in sequence, of the workload's all or none",
            percent(sequential)
        ),
        NotCopied::NoOffsets => {
            "the order: the recording has no offsets; those of the workload are random".to_owned()
        }
        NotCopied::Devices { devices } => {
            format!("the {devices} devices: the workload has one target")
        }
        NotCopied::Bursts { mean, p99 } => format!(
            "bursts: {} in flight on average, and {p99} at the 99th percentile; the workload has none",
            number(mean)
        ),
    }
}

fn worth_text(worth: &AnswerWorth) -> String {
    let [method, base] = [&worth.method, &worth.over].map(|name| label::method(&name.0));
    let [ios, waits] = [worth.ios_share, worth.wait_share].map(percent);
    let concerns = format!(
        "{ios} of its I/Os are of this kind, and its submitters have them in flight for {waits} of their time"
    );
    if worth.method == worth.over {
        return concerns
            + &format!(". It is taken to use {base} already, so there is nothing to gain");
    }
    let cpu = worth.cpu.map(|cpu| {
        let unit = match cpu.of {
            PerCore::Machine => "CPU",
            PerCore::Threads => "CPU of the threads",
        };
        let (by_method, by_other) = (duration(cpu.method_ns), duration(cpu.over_ns));
        format!(" and {by_method} instead of {by_other} of {unit} per I/O")
    });
    let cpu_change = worth.program_cpu_pct.map(|pct| {
        let more = if pct > 0.0 { "more" } else { "less" };
        let pct = number(pct.abs());
        format!(", at its own rate with {pct} % of one CPU {more}")
    });
    format!(
        "{concerns}. {method} gave the workload {} times the IOPS of {base}, at {} times the mean latency{}. The \
         program would go {} times as fast{}",
        number(worth.iops_times),
        number(worth.latency_times),
        cpu.unwrap_or_default(),
        number(worth.program_times),
        cpu_change.unwrap_or_default()
    )
}

fn caveat(caveat: &WorthCaveat) -> String {
    match caveat {
        WorthCaveat::Unlike(figures) => {
            let names = listed(figures.iter().map(|figure| figure_name(*figure)));
            format!("the workload is unlike the program in {names}: the worth is a guess there")
        }
        WorthCaveat::LaneDepth(depth) => format!(
            "the program has {} in flight per submitter. A thread that waits for the oldest of several gains less \
             than one that waits for its only one",
            number(*depth)
        ),
        WorthCaveat::NotSettled => "the answer itself is not settled".to_owned(),
        WorthCaveat::Lost(lost) => format!(
            "the recording lost {} events: the program's rate and I/Os in flight are higher than told",
            count(*lost)
        ),
        WorthCaveat::OtherDisk(disk) => format!("the trials ran on {disk}, which was not recorded"),
    }
}

fn figure_name(figure: LikenedFigure) -> &'static str {
    match figure {
        LikenedFigure::Iops => "IOPS",
        LikenedFigure::Size => "size",
        LikenedFigure::InFlight => "I/Os in flight",
        LikenedFigure::LatencyP50 => "p50",
        LikenedFigure::LatencyP99 => "p99",
    }
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    }
}

fn pattern_name(direction: Direction, random: bool) -> String {
    let order = if random { "random" } else { "sequential" };
    format!("{order} {}", direction_name(direction))
}
