//! A document is the content of a report: a title, answers, sections of sentences, tables and
//! charts, warnings, and facts. The terminal, the page and Markdown show the same document.

mod doctor;
mod live;
mod markdown;
mod tune;

pub(crate) use doctor::check_verdict;
pub use doctor::count_settings;

use crate::note::{Note, ReportTable, Weight};
use crate::plot::Plot;
use crate::terminal::Screen;
use crate::{facts, label};
use q2c_model::Fault;
use q2c_result::{DoctorReport, Machine, Target, Warning};
use std::cell::OnceCell;

/// A result that has a report.
pub trait Reported {
    /// Makes the content of its report.
    fn document(&self) -> Document<'_>;

    /// Names the part of a stored result that has an index out of range. The drawing code relies on
    /// there being none.
    fn dangling_part(&self) -> Option<&'static str> {
        None
    }
}

/// The content of a report.
#[derive(Default)]
pub struct Document<'a> {
    /// The command that made the result, as it is typed after `q2c`.
    pub(crate) command: &'static str,
    pub(crate) version: String,
    pub(crate) schema: String,
    pub(crate) seed: Option<u64>,
    /// Start of the run, seconds since 1970; 0 for a result that needs no run.
    pub(crate) started_unix_s: u64,
    pub(crate) title: String,
    /// The line below the title.
    pub(crate) about: String,
    /// The simulated machine in words; `None` for a real one.
    pub(crate) simulated: Option<String>,
    /// The sentence on the missing part of a run that was stopped early.
    pub(crate) unfinished: Option<Note>,
    pub(crate) answers: Vec<DocumentAnswer>,
    /// Sentences that stand between the answers and the sections.
    pub(crate) notices: Vec<Note>,
    pub(crate) sections: Vec<Section<'a>>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) facts: Vec<Facts>,
}

/// The answer of a result to one question.
#[derive(Clone, Debug, Default)]
pub struct DocumentAnswer {
    /// The part of the result that the answer is about, such as a block size; may be empty.
    pub subject: String,
    /// Sentences that say which method to use, or the finding, with the number that matters.
    pub headline: String,
    /// Good if the answer is settled and nothing disturbed its trials.
    pub(crate) weight: Weight,
    /// The limits of the answer, a sentence each. They are shown right below it.
    pub caveats: Vec<String>,
    /// The figures that support the answer, a sentence each.
    pub evidence: Vec<String>,
    /// Commands to copy that put the answer into effect.
    pub to_do: Vec<String>,
}

impl DocumentAnswer {
    pub(crate) fn new(headline: impl Into<String>) -> Self {
        DocumentAnswer::from(Note::plain("", headline))
    }

    /// The headline, then the caveats.
    pub(crate) fn into_notes(self) -> impl Iterator<Item = Note> {
        let headline = Note::new(self.weight, &self.subject, self.headline);
        std::iter::once(headline).chain(Note::many(Weight::Caution, "caveat", self.caveats))
    }
}

impl From<Note> for DocumentAnswer {
    fn from(note: Note) -> Self {
        DocumentAnswer {
            subject: note.heading,
            headline: note.text,
            weight: note.weight,
            ..DocumentAnswer::default()
        }
    }
}

pub(crate) enum DocumentPart<'a> {
    Notes(Vec<Note>),
    /// A table, and the weight of each of its rows; no weights if all rows are equal.
    Table(ReportTable, Vec<Weight>),
    Plots(LazyPlots<'a>),
    /// How to read the parts above.
    Remark(String),
    /// Lines to copy or to run.
    Lines(Vec<String>),
}

impl DocumentPart<'_> {
    pub(crate) fn plots(&self) -> &[Plot] {
        match self {
            DocumentPart::Plots(plots) => plots.made.get_or_init(&plots.make),
            _ => &[],
        }
    }
}

/// Plots that are made on demand, because only the HTML page shows them.
pub(crate) struct LazyPlots<'a> {
    make: Box<dyn Fn() -> Vec<Plot> + 'a>,
    made: OnceCell<Vec<Plot>>,
}

#[derive(Default)]
pub(crate) struct Section<'a> {
    pub title: String,
    pub parts: Vec<DocumentPart<'a>>,
    /// True if the section is shown on request only: folded on a page, with `-v` on a terminal.
    pub folded: bool,
}

impl<'a> Section<'a> {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Section {
            title: title.into(),
            ..Section::default()
        }
    }

    pub(crate) fn table(self, table: ReportTable) -> Self {
        self.weighted(table, [])
    }

    /// A table whose rows differ in weight.
    pub(crate) fn weighted(
        self,
        table: ReportTable,
        weights: impl IntoIterator<Item = Weight>,
    ) -> Self {
        let weights = weights.into_iter().collect();
        self.with_part(!table.rows.is_empty(), DocumentPart::Table(table, weights))
    }

    pub(crate) fn notes(self, notes: impl IntoIterator<Item = Note>) -> Self {
        let notes: Vec<Note> = notes.into_iter().collect();
        self.with_part(!notes.is_empty(), DocumentPart::Notes(notes))
    }

    pub(crate) fn plots(self, make: impl Fn() -> Vec<Plot> + 'a) -> Self {
        let (make, made) = (Box::new(make), OnceCell::new());
        self.with_part(true, DocumentPart::Plots(LazyPlots { make, made }))
    }

    pub(crate) fn lines(self, lines: impl IntoIterator<Item = String>) -> Self {
        let lines: Vec<String> = lines.into_iter().collect();
        self.with_part(!lines.is_empty(), DocumentPart::Lines(lines))
    }

    pub(crate) fn remark(self, remark: impl Into<String>) -> Self {
        let remark = remark.into();
        self.with_part(!remark.is_empty(), DocumentPart::Remark(remark))
    }

    fn with_part(mut self, has_content: bool, part: DocumentPart<'a>) -> Self {
        self.parts.extend(has_content.then_some(part));
        self
    }

    pub(crate) fn folded(mut self) -> Self {
        self.folded = true;
        self
    }

    /// True if a page has something to show of the section.
    pub(crate) fn has_content(&self) -> bool {
        let plots = self.parts.iter().flat_map(DocumentPart::plots);
        self.has_text() || plots.count() > 0
    }

    /// True if a terminal has something to show of the section.
    pub(crate) fn has_text(&self) -> bool {
        let is_text = |part: &DocumentPart<'_>| !matches!(part, DocumentPart::Plots(_));
        self.parts.iter().any(is_text)
    }
}

pub(crate) struct Facts {
    pub title: String,
    pub facts: Vec<Note>,
    /// The disks or the machine that the facts describe, for the line below the page's title.
    pub names: Vec<String>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(command: &'static str, version: &str, schema: &str) -> Self {
        Document {
            command,
            version: version.to_owned(),
            schema: schema.to_owned(),
            ..Document::default()
        }
    }

    pub(crate) fn titled(mut self, title: impl Into<String>, about: impl Into<String>) -> Self {
        self.title = title.into();
        self.about = about.into();
        self
    }

    pub(crate) fn run(mut self, seed: u64, started_unix_s: u64) -> Self {
        self.seed = Some(seed);
        self.started(started_unix_s)
    }

    /// Sets the start of a run without random numbers, which has no seed.
    pub(crate) fn started(mut self, started_unix_s: u64) -> Self {
        self.started_unix_s = started_unix_s;
        self
    }

    /// If the run was stopped early, adds a sentence on that before the answers.
    pub(crate) fn complete(self, is_complete: bool) -> Self {
        let message = "the run was stopped early; what is shown is valid, the rest is missing";
        self.missing((!is_complete).then(|| message.to_owned()))
    }

    /// Adds a sentence on missing parts, if any are missing. It stands before the answers.
    pub(crate) fn missing(mut self, sentence: Option<String>) -> Self {
        self.unfinished = sentence.map(|sentence| Note::bad("incomplete", sentence));
        self
    }

    pub(crate) fn answers(mut self, new: impl IntoIterator<Item: Into<DocumentAnswer>>) -> Self {
        self.answers.extend(new.into_iter().map(Into::into));
        self
    }

    pub(crate) fn notices(mut self, notices: impl IntoIterator<Item = Note>) -> Self {
        self.notices.extend(notices);
        self
    }

    /// Adds a section, unless it has nothing to show.
    pub(crate) fn section(mut self, section: Section<'a>) -> Self {
        if !section.parts.is_empty() {
            self.sections.push(section);
        }
        self
    }

    pub(crate) fn sections(self, sections: impl IntoIterator<Item = Section<'a>>) -> Self {
        sections.into_iter().fold(self, Document::section)
    }

    pub(crate) fn warnings(mut self, warnings: &[Warning]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    pub(crate) fn target(self, target: &Target) -> Self {
        let model = target.device.as_ref().and_then(|disk| disk.model.clone());
        self.facts(
            &format!("Target {}", target.path),
            facts::target(target),
            [label::target(target)].into_iter().chain(model).collect(),
        )
    }

    pub(crate) fn targets<'t>(self, targets: impl IntoIterator<Item = &'t Target>) -> Self {
        targets.into_iter().fold(self, Document::target)
    }

    pub(crate) fn machine(mut self, machine: &Machine) -> Self {
        self.simulated = facts::headline(machine);
        let (facts, names) = (facts::machine(machine), facts::about(machine));
        self.facts("Machine", facts, names)
    }

    /// Adds the doctor's checks as facts; checks that invalidate something come first.
    pub(crate) fn checks(self, report: &DoctorReport) -> Self {
        if report.checks.is_empty() {
            return self;
        }
        self.facts("Checks of the machine", facts::checks(report), Vec::new())
    }

    /// Adds facts. `names` are the names of the disks or the machine that the facts describe, for
    /// the line below the page's title.
    pub(crate) fn facts(mut self, title: &str, facts: Vec<Note>, names: Vec<String>) -> Self {
        let title = title.to_owned();
        self.facts.push(Facts {
            title,
            facts,
            names,
        });
        self
    }

    /// The report for a terminal.
    #[must_use]
    pub fn text(&self, screen: Screen) -> String {
        crate::terminal::document(self, screen)
    }

    /// The title and the answers with their caveats, for a terminal.
    #[must_use]
    pub fn head(&self, screen: Screen) -> String {
        crate::terminal::document_head(self, screen)
    }

    /// The report as one HTML file that opens without a network.
    ///
    /// # Errors
    /// Returns a fault if a template cannot be filled, which its types rule out.
    pub fn page(&self) -> Result<String, Fault> {
        crate::html::page(self)
    }
}
