//! The losses of `q2c poll study` and `q2c poll search`: each configuration on each pattern that
//! counts.

use super::Better::Less;
use super::FigureUnit::Share;
use super::{Columns, word};
use crate::poll_search::PollSearchResult;
use crate::poll_study::{PollStudyResult, ScoredPolicy, StudiedPattern};

struct StudyFigureRow<'a> {
    policy: &'a str,
    /// Why the policy was opened on the patterns held out.
    role: String,
    pattern: &'a StudiedPattern,
    /// `None` where a limit is broken.
    loss: Option<f64>,
}

measures!(PollStudyResult, columns(), |result| {
    let scored = result.configurations.iter();
    scored.flat_map(|scored| rows(scored, String::new(), &result.patterns))
});

measures!(PollSearchResult, columns(), |result| {
    let contenders = result.contenders.iter();
    contenders.flat_map(|c| rows(&c.held_out, word(c.role), &result.held_out))
});

fn rows<'a>(
    scored: &'a ScoredPolicy,
    role: String,
    patterns: &'a [StudiedPattern],
) -> impl Iterator<Item = StudyFigureRow<'a>> {
    let losses = patterns.iter().zip(&scored.losses);
    let counting = losses.filter(|(pattern, _)| pattern.own_best.is_some());
    counting.map(move |(pattern, loss)| StudyFigureRow {
        policy: &scored.policy,
        role: role.clone(),
        pattern,
        loss: *loss,
    })
}

fn columns<'a>() -> Columns<StudyFigureRow<'a>> {
    Columns::new(|row: &StudyFigureRow| Some(format!("{} {}", row.policy, row.pattern.name)))
        .key("policy", |row| row.policy.to_owned())
        .key("role", |row| row.role.clone())
        .key("pattern", |row| row.pattern.name.clone())
        .key("source", |row| row.pattern.source.clone())
        .number("loss", Share, Less, |row| row.loss)
}
