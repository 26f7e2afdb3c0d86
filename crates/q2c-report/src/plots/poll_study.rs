//! Plots of rule studies and searches: each rule's loss on each pattern as a map, and the loss of
//! contenders on the searched patterns against that on the patterns held out.

use crate::plot::{Colours, Plot, PlotAxis, PlotSeries, View};
use q2c_result::poll_search::{ContenderRole, PollSearchResult};
use q2c_result::poll_study::{PollStudyResult, RuleScore, StudiedPattern};

/// The loss of each rule on each pattern: with parameters chosen without the pattern's source, and
/// with parameters chosen on all patterns.
pub(crate) fn plot(result: &PollStudyResult) -> Plot {
    let views = [
        view(result, "source left out", left_out_losses),
        view(result, "chosen on all", average_losses),
    ];
    let height = (260 + 24 * result.rules.len() as u32).min(900);
    Plot::new("poll-study", "Loss of each rule on each pattern", height)
        .note("Percent of the objective of the pattern's own best. 100 stands for a broken limit. A gap is a pattern that does not count.")
        .views(views.into_iter().filter(|_| !result.rules.is_empty()))
}

/// The loss on one pattern, and the policy that has it. The loss is `None` if the policy breaks a
/// limit, or if the pattern does not count.
type Loss<'a> = (Option<f64>, &'a str);

fn average_losses<'a>(_: &PollStudyResult, rule: &'a RuleScore) -> Vec<Loss<'a>> {
    let losses = rule.on_average.losses.iter();
    let losses = losses.map(|loss| (*loss, &*rule.on_average.policy));
    losses.collect()
}

fn left_out_losses<'a>(result: &PollStudyResult, rule: &'a RuleScore) -> Vec<Loss<'a>> {
    let sources = rule.sources_left_out.as_ref();
    let left_out = sources.unwrap_or(&rule.patterns_left_out);
    let loss = |pattern: usize| {
        let mut choices = left_out.each.iter();
        let choice = choices.find(|choice| choice.pattern == pattern);
        choice.map_or((None, ""), |choice| (choice.loss, &*choice.policy))
    };
    (0..result.patterns.len()).map(loss).collect()
}

fn view(
    result: &PollStudyResult,
    label: &'static str,
    losses: for<'a> fn(&PollStudyResult, &'a RuleScore) -> Vec<Loss<'a>>,
) -> View {
    let (mut rows, mut texts) = (Vec::new(), Vec::new());
    for rule in &result.rules {
        let cells = result.patterns.iter().zip(losses(result, rule));
        let cells = cells.map(|(pattern, loss)| loss_cell(pattern, loss));
        let (row, row_texts): (Vec<Option<f64>>, Vec<String>) = cells.unzip();
        rows.push(row);
        texts.extend(row_texts);
    }
    let patterns = result.patterns.iter().map(|pattern| pattern.name.as_str());
    let rules = result.rules.iter().map(|rule| rule.rule.as_str());
    let map = PlotSeries::heat_map(patterns.collect(), rules.collect(), rows).spaced();
    let axis = PlotAxis::names("").without_grid();
    View::new(label, axis.clone(), axis.reversed())
        .colours(Colours::new("loss, %"))
        .series([map.texts(texts).hover_alone("{text}")])
}

/// The number that colours a rule's cell, and the cell's text; a gap if the pattern does not count.
fn loss_cell(pattern: &StudiedPattern, (loss, policy): Loss<'_>) -> (Option<f64>, String) {
    if pattern.own_best.is_none() {
        return (None, String::new());
    }
    let verdict = match loss {
        None => "breaks a limit".to_owned(),
        Some(loss) => format!("loses {:.1} %", loss * 100.0),
    };
    let text = format!("{policy} on {}\n{verdict}", pattern.name);
    (Some(loss.unwrap_or(1.0) * 100.0), text)
}

/// The contenders as dots. A rule on the dashed line loses as much on the patterns held out as on
/// those that were searched.
pub(crate) fn searched(result: &PollSearchResult) -> Plot {
    let roles = [
        (ContenderRole::Finalist, "finalists", "@chosen"),
        (ContenderRole::Reference, "references", "@interrupt"),
        (ContenderRole::Other, "other families", "@muted"),
    ];
    let dots = roles.into_iter().filter_map(|(role, name, colour)| {
        let contenders = result.contenders.iter().filter(|it| it.role == role);
        let with_searched = contenders.filter_map(|it| Some((it, it.searched.as_ref()?)));
        let losses = with_searched
            .clone()
            .map(|(it, searched)| (searched.mean_loss * 100.0, it.held_out.mean_loss * 100.0));
        let dots = PlotSeries::dots(name, losses).colour(colour).size(9.0);
        let dots = dots.texts(with_searched.map(|(it, _)| it.policy.clone()));
        dots.hover_alone("{text}\nsearched {x} %, held out {y} %")
            .if_any()
    });
    let dots: Vec<PlotSeries> = dots.collect();
    let diagonal = PlotSeries::line("", [(0.0, 0.0), (100.0, 100.0)]).unlisted();
    let diagonal = diagonal.without_hover().pen("@muted", 1.0).dash("dash");
    let diagonal = (!dots.is_empty()).then_some(diagonal);
    let axis = |patterns: &str| PlotAxis::from_zero(format!("loss on the {patterns}, %"));
    let view = View::new("loss", axis("searched patterns"), axis("patterns held out"));
    Plot::new("poll-search", "Searched and held out", 460)
        .note("Mean loss in percent. Above the dashed line a rule is worse on what was held out than on what it was searched on.")
        .view(view.series(dots).series(diagonal))
}
