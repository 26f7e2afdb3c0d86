//! The documents of `q2c doctor` and of `q2c doctor --fix`.

use super::{Document, Reported, Section};
use crate::note::{Note, ReportTable, Weight, row};
use crate::phrase::{counted, distinct, grouped, joined, listed, listed_if_any, when};
use q2c_result::doctor::{
    ChangeState, LeftReason, Ready, RefusedReason, SettingChange, UnfixedCheck, Use, UseState,
};
use q2c_result::{Check, CheckVerdict, DoctorFix, DoctorReport};

impl Reported for DoctorReport {
    fn document(&self) -> Document<'_> {
        let checks = || check_table(Section::new("Checks"), &Vec::from_iter(&self.checks));
        Document::new("doctor", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("The machine", counts_text(self))
            .answers(readiness_note(self))
            .notices(no_disk_note(self))
            .sections(self.uses.is_empty().then(checks))
            .sections(self.uses.iter().map(|state| use_section(self, state)))
            .section(fix_section(self))
    }
}

/// Says that no disk was checked, in a report on the machine without a target.
fn no_disk_note(report: &DoctorReport) -> Option<Note> {
    let of_target = |check: &Check| check.group == "target";
    let message = "none was looked at; q2c doctor FILE looks at that of a file or device, too: \
                 scheduler, write-back throttling, merges, interrupts";
    let is_missing = !report.uses.is_empty() && !report.checks.iter().any(of_target);
    is_missing.then(|| Note::caution("disk", message))
}

/// The section of one use of the machine: in the title its readiness, then its own checks and the
/// checks of other uses that concern it.
fn use_section(report: &DoctorReport, state: &UseState) -> Section<'static> {
    let title = format!("{}: {}", used_for(state.of), readiness(report, state));
    let is_own = |check: &&Check| check.uses.first() == Some(&state.of);
    let checks = || report.checks.iter();
    let of_other_uses = checks().filter(|check| check.uses.contains(&state.of) && !is_own(check));
    let see_also = listed_if_any(of_other_uses.map(|check| &check.id));
    let see_also = see_also.map(|names| format!("See also: {names}."));
    let own_checks: Vec<&Check> = checks().filter(is_own).collect();
    let section = check_table(Section::new(title), &own_checks);
    let section = section.remark(see_also.unwrap_or_default());
    let is_empty = section.parts.is_empty();
    section.remark(when(is_empty, "No check is of this use alone."))
}

fn check_table(section: Section<'static>, checks: &[&Check]) -> Section<'static> {
    let rows = checks.iter().map(|check| {
        let verdict = check_verdict(check).0;
        [check.id.as_str(), verdict, &check.found, &check.means]
    });
    let table = ReportTable::new("check |  | found | means", rows);
    section.weighted(table, checks.iter().map(|check| check_verdict(check).1))
}

/// True if a check found that something is missing which only a few uses need.
fn is_absence(check: &Check) -> bool {
    check.verdict == CheckVerdict::Invalidates && !check.uses.contains(&Use::Measuring)
}

pub(crate) fn check_verdict(check: &Check) -> (&'static str, Weight) {
    match check.verdict {
        CheckVerdict::Invalidates if is_absence(check) => ("missing", Weight::Caution),
        CheckVerdict::Pass => ("ok", Weight::Plain),
        CheckVerdict::Warn => ("warn", Weight::Caution),
        CheckVerdict::Invalidates => ("invalid", Weight::Bad),
        CheckVerdict::Unknown => ("unknown", Weight::Plain),
    }
}

fn used_for(purpose: Use) -> &'static str {
    match purpose {
        Use::Measuring => "All measurements",
        Use::Tune => "tune",
        Use::Bench => "bench",
        Use::Capture => "Recording I/Os",
        Use::KernelPolling => "The kernel's own hybrid polling",
        Use::Spdk => "SPDK",
        Use::FileSystems => "fs bench",
        Use::RamDevices => "RAM devices",
        Use::Placement => "place",
    }
}

fn readiness(report: &DoctorReport, state: &UseState) -> String {
    // If the reasons are exactly the checks of this use, the table below names them.
    let checks = report.checks.iter();
    let checks = checks.filter(|check| check.uses.first() == Some(&state.of));
    let ids: Vec<&String> = checks.map(|check| &check.id).collect();
    let listed_in_table = ids.len() == state.by.len() && ids.iter().all(|id| state.by.contains(id));
    let reasons = format!(" ({})", listed(&state.by));
    let reasons = when(!listed_in_table, &reasons);
    let improve = format!("; {} to improve", state.to_improve);
    let improve = when(state.to_improve > 0, &improve);
    match state.ready {
        Ready::Ready => format!("ready{improve}"),
        Ready::Limited => {
            let limiting = report.checks.iter().filter(|c| state.by.contains(&c.id));
            let lost_columns = listed(distinct(limiting.flat_map(|check| &check.columns)));
            format!("ready but for {lost_columns}{reasons}{improve}")
        }
        Ready::Unknown => format!("not known{reasons}{improve}"),
        Ready::NotReady => format!("not ready{reasons}{improve}"),
    }
}

fn counts_text(report: &DoctorReport) -> String {
    let count_of = |wanted| report.checks.iter().filter(|c| c.verdict == wanted).count();
    let absences = report.checks.iter().filter(|c| is_absence(c)).count();
    let (disturbing, missing) = match report.uses.as_slice() {
        [] => ("invalid", "missing"),
        _ => (
            "disturbing what is measured",
            "missing, which only some uses need",
        ),
    };
    let counts = [
        (count_of(CheckVerdict::Pass), "ok"),
        (count_of(CheckVerdict::Warn), "to improve"),
        (count_of(CheckVerdict::Invalidates) - absences, disturbing),
        (absences, missing),
        (count_of(CheckVerdict::Unknown), "unknown"),
    ];
    let present_counts = counts.iter().filter(|(n, _)| *n > 0);
    let summary = joined(present_counts.map(|(n, word)| format!("{n} {word}")), "; ");
    format!("{} checks: {summary}", report.checks.len())
}

/// The number of uses at each level of readiness; `None` in a report without uses.
fn readiness_note(report: &DoctorReport) -> Option<Note> {
    let levels = [
        (Ready::Ready, "ready"),
        (Ready::Limited, "ready but for a part"),
        (Ready::NotReady, "not ready"),
        (Ready::Unknown, "not known"),
    ];
    let groups = levels.into_iter().filter_map(|(ready, word)| {
        let with_level = report.uses.iter().filter(|state| state.ready == ready);
        let names = listed_if_any(with_level.map(|state| used_for(state.of)))?;
        Some(format!("{word}: {names}"))
    });
    let sentence = joined(groups, "; ");
    let is_ready = report.uses.iter().all(|state| state.ready == Ready::Ready);
    let heading = format!("{} uses", report.uses.len());
    (!sentence.is_empty()).then(|| Note::new(Weight::good_if(is_ready), &heading, sentence))
}

fn fix_section(report: &DoctorReport) -> Section<'static> {
    let checks = report.checks.iter();
    let amiss = checks.filter(|check| check.verdict != CheckVerdict::Pass);
    let lines = amiss.filter_map(|check| Some([format!("# {}", check.id), check.fix.clone()?]));
    Section::new("To change what is amiss").lines(lines.flatten())
}

impl Reported for DoctorFix {
    fn document(&self) -> Document<'_> {
        let document = Document::new("doctor --fix", env!("CARGO_PKG_VERSION"), &self.schema);
        if self.dry_run {
            let left_section = Section::new("Left as it is");
            document
                .titled(planned_title(self), "")
                .section(change_table(self))
                .section(self.left.iter().fold(left_section, unchanged_finding))
        } else {
            let changed = self.changes.len() - self.refused().count();
            let groups = similar_changes(self);
            document
                .titled("Settings of the machine", "")
                .notices([Note::good("changed", count_settings(changed))])
                .notices(self.changes.iter().filter_map(rounded_note))
                .notices(groups.iter().filter_map(|group| refusal_note(group)))
        }
    }
}

/// A number of settings in words.
#[must_use]
pub fn count_settings(number: usize) -> String {
    counted(number, "setting")
}

fn planned_title(fix: &DoctorFix) -> String {
    match fix.changes.len() {
        0 => "No setting stands in the way that could be changed".to_owned(),
        n => format!("{} to be changed", count_settings(n)),
    }
}

fn change_table(fix: &DoctorFix) -> Section<'_> {
    let groups = similar_changes(fix);
    let refusal = |change: &SettingChange| match &change.state {
        ChangeState::Refused { why, .. } => (refusal_reason(*why), Weight::Bad),
        _ => ("", Weight::Plain),
    };
    let rows = groups.iter().map(|group| {
        let (first, setting) = (group[0], &files_label(group));
        let (reason, _) = refusal(first);
        row![&first.check, setting, &first.old, &first.new, reason]
    });
    let table = ReportTable::new("check | setting | from | to | refused", rows);
    let weights = groups.iter().map(|group| refusal(group[0]).1);
    Section::default().weighted(table.without_empty_columns(), weights)
}

fn rounded_note(change: &SettingChange) -> Option<Note> {
    let ChangeState::Rounded { now } = &change.state else {
        return None;
    };
    let (file, new) = (&change.file, &change.new);
    let message = format!("{file}: {new} was asked, the kernel took {now}");
    Some(Note::caution("other value", message))
}

fn refusal_note(group: &[&SettingChange]) -> Option<Note> {
    let ChangeState::Refused { why, error } = &group[0].state else {
        return None;
    };
    let message = format!("{}: {} ({error})", files_label(group), refusal_reason(*why));
    Some(Note::bad("not changed", message))
}

/// Changes that differ only in the file, such as one setting of all CPUs, in groups.
fn similar_changes(fix: &DoctorFix) -> Vec<Vec<&SettingChange>> {
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
fn unchanged_finding<'a>(section: Section<'a>, left: &UnfixedCheck) -> Section<'a> {
    let message = format!("{}; {}", left.found, left_reason(left.why));
    let note = Note::plain(&left.check, message);
    section.notes([note]).lines(left.line.clone())
}

fn refusal_reason(reason: RefusedReason) -> &'static str {
    match reason {
        RefusedReason::Permission => "this user may not write it",
        RefusedReason::ReadOnly => "mounted read-only here, as in a container",
        RefusedReason::Kernel => "the kernel refuses it",
        RefusedReason::Held => "another run of q2c holds it",
        RefusedReason::Pending => "an earlier run left it changed: `q2c restore` first",
    }
}

fn left_reason(reason: LeftReason) -> &'static str {
    const FROM_OTHERS: &str =
        "it would take memory, CPUs, protection or a device from others, so it is yours to decide:";
    match reason {
        LeftReason::Boot => "it counts when the kernel or the driver starts:",
        LeftReason::Program => "it is no setting, a command changes it:",
        LeftReason::Others => FROM_OTHERS,
        LeftReason::Managed => "the kernel itself chooses the CPUs of these interrupts",
        LeftReason::OneLine => "one interrupt line cannot be spread over CPUs",
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
            left: vec![UnfixedCheck {
                check: "poll-queues".to_owned(),
                found: "io_poll=0".to_owned(),
                why: LeftReason::Boot,
                line: Some("nvme.poll_queues=2".to_owned()),
            }],
        };
        let text = fix.document().markdown();
        assert!(text.contains("3 settings"), "{text}");
        assert!(text.contains("/c/cpu0/gov and 1 like it"), "{text}");
        assert_eq!(similar_changes(&fix).len(), 2);
        assert!(text.contains("\nnvme.poll_queues=2\n"), "{text}");
    }
}
