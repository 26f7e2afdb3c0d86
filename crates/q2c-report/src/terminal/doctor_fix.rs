//! `q2c doctor --fix` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{Column, Field, Table};
use q2c_result::DoctorFix;
use q2c_result::doctor::{ChangeState, LeftAsIs, NotChanged, SettingChange, WhyLeft};

/// What would be changed, by a dry run, or what was.
#[must_use]
pub fn fix(fix: &DoctorFix, screen: Screen) -> String {
    match fix.dry_run {
        true => fix_planned(fix, screen),
        false => fix_done(fix, screen),
    }
}

/// What will be changed, and what is left as it is with the reason.
#[must_use]
pub fn fix_planned(fix: &DoctorFix, screen: Screen) -> String {
    let heading = match fix.changes.is_empty() {
        true => "No setting stands in the way that could be changed.".to_owned(),
        false => format!("{} to be changed:", settings(fix.changes.len())),
    };
    let mut text = screen.painted(Tone::Strong, &heading);
    if !fix.changes.is_empty() {
        text += &changes(fix, screen);
    }
    if !fix.left.is_empty() {
        text += "\n";
        text += &screen.painted(Tone::Strong, "Left as it is:");
        text.extend(fix.left.iter().map(|left| left_as_is(left, screen)));
    }
    text
}

/// How many settings were changed, and which were not.
#[must_use]
pub fn fix_done(fix: &DoctorFix, screen: Screen) -> String {
    let changed = fix.changes.len() - fix.refused().count();
    let refused = alike(fix).into_iter().filter_map(|group| {
        let ChangeState::Refused { why, error } = &group[0].state else {
            return None;
        };
        let text = format!("{}: {} ({error})", named(&group), not_changed(*why));
        Some(screen.note(Tone::Bad, "not changed:", &text))
    });
    let rounded = fix.changes.iter().filter_map(|change| {
        let ChangeState::Rounded { now } = &change.state else {
            return None;
        };
        let text = format!(
            "{}: {} was asked, the kernel took {now}",
            change.file, change.new
        );
        Some(screen.note(Tone::Caution, "other value:", &text))
    });
    let told = screen.note(Tone::Good, "changed:", &settings(changed));
    told + &rounded.collect::<String>() + &refused.collect::<String>()
}

/// A number of settings in words.
#[must_use]
pub fn settings(number: usize) -> String {
    match number {
        1 => "1 setting".to_owned(),
        n => format!("{n} settings"),
    }
}

fn changes(fix: &DoctorFix, screen: Screen) -> String {
    let mut table = Table::new([
        Column::words("check"),
        Column::words("setting"),
        Column::words("from").left(),
        Column::words("to").left(),
        Column::words(""),
    ]);
    for group in alike(fix) {
        let first = group[0];
        let (tone, note) = match &first.state {
            ChangeState::Refused { why, .. } => (Tone::Bad, not_changed(*why)),
            _ => (Tone::Plain, ""),
        };
        table.add([
            Field::from(&first.check),
            Field::from(named(&group)),
            Field::from(&first.old),
            Field::from(&first.new),
            Field::new(tone, note),
        ]);
    }
    table.text(screen)
}

/// Changes of one check that are the same but for the file, as those of all CPUs.
fn alike(fix: &DoctorFix) -> Vec<Vec<&SettingChange>> {
    let mut groups: Vec<Vec<&SettingChange>> = Vec::new();
    for change in &fix.changes {
        let of = |other: &SettingChange| {
            let SettingChange {
                check,
                file,
                old,
                new,
                state,
            } = other;
            let name = file.rsplit('/').next().unwrap_or_default().to_owned();
            (check.clone(), name, old.clone(), new.clone(), state.clone())
        };
        let same = |group: &&mut Vec<&SettingChange>| of(group[0]) == of(change);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    groups
}

fn named(group: &[&SettingChange]) -> String {
    let first = &group[0].file;
    match group.len() {
        1 => first.clone(),
        n => format!("{first} and {} like it", n - 1),
    }
}

fn left_as_is(left: &LeftAsIs, screen: Screen) -> String {
    let text = format!("{}; {}", left.found, why_left(left.why));
    let told = screen.note(Tone::Plain, &format!("{}:", left.check), &text);
    let line = left.line.as_deref();
    told + &line.map_or_else(String::new, |line| {
        format!("    {}\n", screen.paint(Tone::Plain, line))
    })
}

fn not_changed(why: NotChanged) -> &'static str {
    match why {
        NotChanged::Permission => "this user may not write it",
        NotChanged::ReadOnly => "mounted read-only here, as in a container",
        NotChanged::Kernel => "the kernel refuses it",
        NotChanged::Held => "another run of q2c holds it",
        NotChanged::Pending => "an earlier run left it changed: `q2c restore` first",
    }
}

fn why_left(why: WhyLeft) -> &'static str {
    match why {
        WhyLeft::Boot => "it counts when the kernel or the driver starts:",
        WhyLeft::Program => "it is no setting, a command changes it:",
        WhyLeft::Others => {
            "it would take memory, CPUs, protection or a device from others, so it is yours to decide:"
        }
        WhyLeft::Managed => "the kernel itself chooses the CPUs of these interrupts",
        WhyLeft::OneLine => "one interrupt line cannot be spread over CPUs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen::new(120, false);

    fn change(check: &str, file: &str, state: ChangeState) -> SettingChange {
        SettingChange {
            check: check.to_owned(),
            file: file.to_owned(),
            old: "powersave".to_owned(),
            new: "performance".to_owned(),
            state,
        }
    }

    fn made(states: [ChangeState; 3]) -> DoctorFix {
        let files = ["/c/cpu0/gov", "/c/cpu1/gov", "/q/wbt"];
        let changes = files.iter().zip(states).map(|(file, state)| {
            let check = if *file == "/q/wbt" { "wbt" } else { "governor" };
            change(check, file, state)
        });
        DoctorFix {
            schema: q2c_result::doctor::FIX_SCHEMA.to_owned(),
            dry_run: false,
            changes: changes.collect(),
            left: vec![LeftAsIs {
                check: "poll-queues".to_owned(),
                found: "io_poll=0".to_owned(),
                why: WhyLeft::Boot,
                line: Some("nvme.poll_queues=2".to_owned()),
            }],
        }
    }

    fn refused() -> ChangeState {
        ChangeState::Refused {
            why: NotChanged::ReadOnly,
            error: "Read-only file system (os error 30)".to_owned(),
        }
    }

    #[test]
    fn settings_of_all_cpus_are_one_line_and_reasons_are_told() {
        let planned = made([ChangeState::Planned, ChangeState::Planned, refused()]);
        let text = fix_planned(&planned, SCREEN);
        assert!(text.contains("3 settings to be changed:"), "{text}");
        assert!(text.contains("/c/cpu0/gov and 1 like it"), "{text}");
        assert!(text.contains("powersave"), "{text}");
        assert!(text.contains("mounted read-only here"), "{text}");
        assert!(text.contains("counts when the kernel"), "{text}");
        assert!(text.contains("    nvme.poll_queues=2\n"), "{text}");
    }

    #[test]
    fn what_was_changed_is_counted() {
        let rounded = ChangeState::Rounded {
            now: "1023".to_owned(),
        };
        let done = made([ChangeState::Changed, rounded, refused()]);
        let text = fix_done(&done, SCREEN);
        assert!(text.contains("changed: 2 settings"), "{text}");
        assert!(text.contains("the kernel took 1023"), "{text}");
        assert!(
            text.contains("not changed: /q/wbt: mounted read-only"),
            "{text}"
        );
    }

    #[test]
    fn a_result_is_read_back() {
        let made = made([ChangeState::Planned, ChangeState::Changed, refused()]);
        let text = serde_json::to_string(&made).unwrap();
        assert!(
            text.contains(r#""state":"refused","why":"read-only""#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<DoctorFix>(&text).unwrap(), made);
    }
}
