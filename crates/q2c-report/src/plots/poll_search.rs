//! The losses of what was opened, on the searched patterns against those held out.

use crate::plot::{Plot, PlotAxis, PlotSeries, View};
use q2c_result::poll_search::{ContenderRole, PollSearchResult};

/// A rule on the dashed line is worth on what was held out what the search promised.
pub(crate) fn plot(result: &PollSearchResult) -> Plot {
    let roles = [
        (ContenderRole::Finalist, "finalists", "@chosen"),
        (ContenderRole::Reference, "references", "@interrupt"),
        (ContenderRole::Other, "other families", "@muted"),
    ];
    let dots = roles.into_iter().filter_map(|(role, name, colour)| {
        let contenders = result.contenders.iter();
        let opened =
            contenders.filter(|contender| contender.role == role && contender.searched.is_some());
        let losses = opened.clone().map(|contender| {
            let searched = contender
                .searched
                .as_ref()
                .map(|score| score.mean_loss * 100.0);
            (searched, contender.held_out.mean_loss * 100.0)
        });
        PlotSeries::dots(name, losses)
            .texts(opened.map(|contender| contender.policy.clone()))
            .size(9.0)
            .colour(colour)
            .hover_alone("{text}\nsearched {x} %, held out {y} %")
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
