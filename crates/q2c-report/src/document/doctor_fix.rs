//! The document of `q2c doctor --fix`: the planned changes, or the changes that were made.

use super::{Document, Reported, Section};
use crate::phrase::{counted, grouped, when};
use crate::said::{Note, ReportTable, Weight, row};
use q2c_result::DoctorFix;
use q2c_result::doctor::{ChangeState, LeftAsIs, NotChanged, SettingChange, WhyLeft};

impl Reported for DoctorFix {
    fn document(&self) -> Document<'_> {
        let document = Document::new("doctor --fix", env!("CARGO_PKG_VERSION"), &self.schema);
        if self.dry_run {
            let left = Section::new("Left as it is");
            document
                .titled(planned(self), "")
                .section(changes(self))
                .section(self.left.iter().fold(left, left_as_is))
        } else {
            let changed = self.changes.len() - self.refused().count();
            document
                .titled("Settings of the machine", "")
                .notices([Note::good("changed", count_settings(changed))])
                .notices(self.changes.iter().filter_map(rounded))
                .notices(alike(self).iter().filter_map(|group| refused(group)))
        }
    }
}

/// A number of settings in words.
#[must_use]
pub fn count_settings(number: usize) -> String {
    counted(number, "setting")
}

fn planned(fix: &DoctorFix) -> String {
    match fix.changes.len() {
        0 => "No setting stands in the way that could be changed".to_owned(),
        n => format!("{} to be changed", count_settings(n)),
    }
}

fn changes(fix: &DoctorFix) -> Section<'_> {
    let groups = alike(fix);
    let foreseen = |change: &SettingChange| match &change.state {
        ChangeState::Refused { why, .. } => (not_changed(*why), Weight::Bad),
        _ => ("", Weight::Plain),
    };
    let rows = groups.iter().map(|group| {
        let (first, setting) = (group[0], &files_label(group));
        row![
            &first.check,
            setting,
            &first.old,
            &first.new,
            foreseen(first).0
        ]
    });
    let table = ReportTable::headed("check | setting | from | to | refused", rows);
    let weights = groups.iter().map(|group| foreseen(group[0]).1);
    Section::default().marked(table.without_empty_columns(), weights)
}

fn rounded(change: &SettingChange) -> Option<Note> {
    let ChangeState::Rounded { now } = &change.state else {
        return None;
    };
    let (file, new) = (&change.file, &change.new);
    let message = format!("{file}: {new} was asked, the kernel took {now}");
    Some(Note::caution("other value", message))
}

fn refused(group: &[&SettingChange]) -> Option<Note> {
    let ChangeState::Refused { why, error } = &group[0].state else {
        return None;
    };
    let message = format!("{}: {} ({error})", files_label(group), not_changed(*why));
    Some(Note::bad("not changed", message))
}

/// Changes that differ only in the file, such as one setting of all CPUs, in groups.
fn alike(fix: &DoctorFix) -> Vec<Vec<&SettingChange>> {
    let groups = grouped(fix.changes.iter().map(|change| {
        let mut without_folder = change.clone();
        let name = change.file.rsplit('/').next().unwrap_or_default();
        name.clone_into(&mut without_folder.file);
        (without_folder, change)
    }));
    groups.into_iter().map(|(_, changes)| changes).collect()
}

fn files_label(group: &[&SettingChange]) -> String {
    let more = format!(" and {} like it", group.len() - 1);
    format!("{}{}", group[0].file, when(group.len() > 1, &more))
}

/// Adds a finding that no change of a setting repairs.
fn left_as_is<'a>(section: Section<'a>, left: &LeftAsIs) -> Section<'a> {
    let message = format!("{}; {}", left.found, why_left(left.why));
    let said = Note::plain(&left.check, message);
    section.notes([said]).lines(left.line.clone())
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
    const OTHERS: &str =
        "it would take memory, CPUs, protection or a device from others, so it is yours to decide:";
    match why {
        WhyLeft::Boot => "it counts when the kernel or the driver starts:",
        WhyLeft::Program => "it is no setting, a command changes it:",
        WhyLeft::Others => OTHERS,
        WhyLeft::Managed => "the kernel itself chooses the CPUs of these interrupts",
        WhyLeft::OneLine => "one interrupt line cannot be spread over CPUs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_all_cpus_are_one_row_and_what_is_left_has_its_line() {
        let change = |check: &str, file: &str| SettingChange {
            check: check.to_owned(),
            file: file.to_owned(),
            old: "powersave".to_owned(),
            new: "performance".to_owned(),
            state: ChangeState::Planned,
        };
        let fix = DoctorFix {
            schema: q2c_result::doctor::FIX_SCHEMA.to_owned(),
            dry_run: true,
            changes: vec![
                change("governor", "/c/cpu0/gov"),
                change("governor", "/c/cpu1/gov"),
                change("wbt", "/q/wbt"),
            ],
            left: vec![LeftAsIs {
                check: "poll-queues".to_owned(),
                found: "io_poll=0".to_owned(),
                why: WhyLeft::Boot,
                line: Some("nvme.poll_queues=2".to_owned()),
            }],
        };
        let text = fix.document().markdown();
        assert!(text.contains("3 settings"), "{text}");
        assert!(text.contains("/c/cpu0/gov and 1 like it"), "{text}");
        assert_eq!(alike(&fix).len(), 2);
        assert!(text.contains("\nnvme.poll_queues=2\n"), "{text}");
    }
}
