//! Fits the correction that best explains the trials: least squares with a prior, by Gauss-Newton.

use crate::correction::{Correction, PRIOR_SD, TERMS};

/// Number of figures: log of the relative IOPS, thread CPU as a share of a CPU, miss rate.
pub(crate) const FIGURE_COUNT: usize = 3;
pub(crate) type FitFigures = [f64; FIGURE_COUNT];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Observation {
    pub cell: usize,
    /// Index, in the list given to [`fit`], of the correction that the prediction was made with.
    pub correction: usize,
    pub deviation: FitFigures,
    pub sd: FitFigures,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FittedCorrection {
    pub correction: Correction,
    /// Lower Cholesky triangle: this times its transpose is the covariance of the terms.
    pub spread: Matrix,
    /// Standard deviation of the logarithm of a cell's IOPS that no correction can explain.
    pub form_sd: f64,
}

impl Default for FittedCorrection {
    fn default() -> Self {
        FittedCorrection {
            correction: Correction::default(),
            spread: triangle(diagonal(PRIOR_SD.map(|sd| sd.powi(2)))),
            form_sd: FORM_SD,
        }
    }
}

/// Number of Gauss-Newton steps: the simulated figures are nearly linear in each term.
const FIT_STEPS: usize = 4;
/// Distance over which a derivative is taken, as a share of the term's prior deviation.
const SLOPE_STEP: f64 = 0.3;
/// Trials beyond this many standard deviations weigh less: a stall is not the cost of a sleep.
const OUTLIER_SDS: f64 = 2.5;
/// Form error of the model, log IOPS: assumed value, its weight in cells, and least value.
const FORM_SD: f64 = 0.008;
const FORM_WEIGHT: f64 = 3.0;
const MIN_FORM_SD: f64 = 0.003;

/// Fits a correction to the trials. `corrections` are those of the rounds so far. `simulate` must
/// use the same recordings and draws in each call.
pub(crate) fn fit(
    observed: &[Observation],
    corrections: &[Correction],
    simulate: &dyn Fn(&Correction) -> Vec<FitFigures>,
) -> FittedCorrection {
    let past: Vec<Vec<FitFigures>> = corrections.iter().map(simulate).collect();
    let mut terms = corrections.last().copied().unwrap_or_default().terms();
    let mut covariance = diagonal(PRIOR_SD.map(|sd| sd.powi(2)));
    for _ in 0..FIT_STEPS {
        let current = simulate(&Correction::clamped(terms));
        let slopes = slopes(terms, &current, simulate);
        let (matrix, right) = normal_equations(observed, &past, &current, &slopes, terms);
        let Some(inverse) = inverse(matrix) else {
            break;
        };
        for (i, term) in terms.iter_mut().enumerate() {
            *term += (0..TERMS).map(|j| inverse[i][j] * right[j]).sum::<f64>();
        }
        terms = Correction::clamped(terms).terms();
        covariance = inverse;
    }
    let correction = Correction::clamped(terms);
    let form_sd = form_sd(observed, &past, &simulate(&correction));
    FittedCorrection {
        correction,
        spread: triangle(covariance),
        form_sd,
    }
}

/// The deviation left in each cell's log IOPS, minus what the noise of trials explains.
fn form_sd(observed: &[Observation], past: &[Vec<FitFigures>], current: &[FitFigures]) -> f64 {
    let (mut sum, mut weight) = (FORM_WEIGHT * FORM_SD.powi(2), FORM_WEIGHT);
    for (cell, figures) in current.iter().enumerate() {
        let trials = observed.iter().filter(|seen| seen.cell == cell);
        let unexplained =
            |seen: &Observation| seen.deviation[0] - (figures[0] - past[seen.correction][cell][0]);
        let (deviations, noise): (Vec<f64>, Vec<f64>) = trials
            .map(|seen| (unexplained(seen), seen.sd[0].powi(2)))
            .unzip();
        let count = deviations.len() as f64;
        if count > 0.0 {
            let mean = deviations.iter().sum::<f64>() / count;
            let explained = noise.iter().sum::<f64>() / count.powi(2);
            let share = count / (count + 2.0);
            sum += share * (mean.powi(2) - explained);
            weight += share;
        }
    }
    (sum / weight).max(MIN_FORM_SD.powi(2)).sqrt()
}

fn slopes(
    terms: [f64; TERMS],
    current: &[FitFigures],
    simulate: &dyn Fn(&Correction) -> Vec<FitFigures>,
) -> Vec<[FitFigures; TERMS]> {
    let mut slopes = vec![[[0.0; FIGURE_COUNT]; TERMS]; current.len()];
    for i in 0..TERMS {
        // The step goes towards zero, away from the limit of the term.
        let length = SLOPE_STEP * PRIOR_SD[i];
        let step = if terms[i] > 0.0 { -length } else { length };
        let mut moved = terms;
        moved[i] += step;
        for (cell, figures) in simulate(&Correction::clamped(moved)).iter().enumerate() {
            slopes[cell][i] = std::array::from_fn(|f| (figures[f] - current[cell][f]) / step);
        }
    }
    slopes
}

pub(crate) type Matrix = [[f64; TERMS]; TERMS];

fn diagonal(values: [f64; TERMS]) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| if i == j { values[i] } else { 0.0 }))
}

fn triangle(matrix: Matrix) -> Matrix {
    let mut lower = [[0.0; TERMS]; TERMS];
    for i in 0..TERMS {
        for j in 0..=i {
            let before: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let remainder = matrix[i][j] - before;
            lower[i][j] = match lower[j][j] {
                _ if i == j => remainder.max(0.0).sqrt(),
                above if above > 0.0 => remainder / above,
                _ => 0.0,
            };
        }
    }
    lower
}

fn normal_equations(
    observed: &[Observation],
    past: &[Vec<FitFigures>],
    current: &[FitFigures],
    slopes: &[[FitFigures; TERMS]],
    terms: [f64; TERMS],
) -> (Matrix, [f64; TERMS]) {
    let mut matrix = [[0.0; TERMS]; TERMS];
    let mut right = [0.0; TERMS];
    for i in 0..TERMS {
        matrix[i][i] = PRIOR_SD[i].powi(-2);
        right[i] = -terms[i] * PRIOR_SD[i].powi(-2);
    }
    for seen in observed {
        let slope = &slopes[seen.cell];
        for f in 0..FIGURE_COUNT {
            let explained = current[seen.cell][f] - past[seen.correction][seen.cell][f];
            let unexplained = seen.deviation[f] - explained;
            let weight =
                (OUTLIER_SDS * seen.sd[f] / unexplained.abs()).min(1.0) / seen.sd[f].powi(2);
            for i in 0..TERMS {
                right[i] += slope[i][f] * weight * unexplained;
                for j in 0..TERMS {
                    matrix[i][j] += slope[i][f] * weight * slope[j][f];
                }
            }
        }
    }
    (matrix, right)
}

/// Inverts by elimination; `None` if a pivot is not a positive number.
fn inverse(mut matrix: Matrix) -> Option<Matrix> {
    let mut inverse = diagonal([1.0; TERMS]);
    for pivot in 0..TERMS {
        let divisor = matrix[pivot][pivot];
        if !divisor.is_finite() || divisor <= 0.0 {
            return None;
        }
        for j in 0..TERMS {
            matrix[pivot][j] /= divisor;
            inverse[pivot][j] /= divisor;
        }
        let (row, inverse_row) = (matrix[pivot], inverse[pivot]);
        for i in (0..TERMS).filter(|&i| i != pivot) {
            let factor = matrix[i][pivot];
            for j in 0..TERMS {
                matrix[i][j] -= factor * row[j];
                inverse[i][j] -= factor * inverse_row[j];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures are linear in the terms here: the fit finds the truth, except for the prior's pull.
    #[test]
    fn a_known_correction_is_found() {
        let truth = Correction {
            latency: -0.04,
            relief: 0.03,
            wake: 0.2,
            sleep_cpu: 0.1,
        };
        let simulate = |correction: &Correction| -> Vec<FitFigures> {
            let [a, b, c, d] = correction.terms();
            let cell = |n: usize| {
                let sleep = n as f64 / 4.0;
                [-a - b * sleep - 0.1 * c * sleep, 0.3 * d - a, sleep * c]
            };
            (0..5).map(cell).collect()
        };
        let (nothing, corrected) = (simulate(&Correction::default()), simulate(&truth));
        let seen = |cell: usize| Observation {
            cell,
            correction: 0,
            deviation: std::array::from_fn(|f| corrected[cell][f] - nothing[cell][f]),
            sd: [1e-4; FIGURE_COUNT],
        };
        let mut observed: Vec<Observation> = (0..5).map(seen).collect();
        let fitted = fit(&observed, &[Correction::default()], &simulate);
        for (term, wanted) in fitted.correction.terms().iter().zip(truth.terms()) {
            assert!((term - wanted).abs() < 1e-3, "{term} for {wanted}");
        }
        for seen in &mut observed {
            (seen.correction, seen.deviation) = (1, [0.0; FIGURE_COUNT]);
        }
        let refit = fit(&observed, &[Correction::default(), truth], &simulate);
        assert!((refit.correction.wake - 0.2).abs() < 1e-3, "{refit:?}");
    }

    #[test]
    fn without_trials_nothing_is_corrected() {
        let fitted = fit(&[], &[Correction::default()], &|_| Vec::new());
        assert_eq!(fitted, FittedCorrection::default());
    }

    const MATRIX: Matrix = [
        [4.0, 1.0, 0.5, 0.0],
        [1.0, 3.0, 0.2, 0.1],
        [0.5, 0.2, 2.0, 0.3],
        [0.0, 0.1, 0.3, 1.0],
    ];

    fn assert_product(matrix: impl Fn(usize, usize, usize) -> f64, wanted: Matrix) {
        for (i, row) in wanted.iter().enumerate() {
            for (j, wanted) in row.iter().enumerate() {
                let product: f64 = (0..TERMS).map(|k| matrix(i, j, k)).sum();
                assert!((product - wanted).abs() < 1e-12, "{product} {wanted}");
            }
        }
    }

    #[test]
    fn a_triangle_times_its_transpose_is_the_matrix() {
        let lower = triangle(MATRIX);
        assert_product(|i, j, k| lower[i][k] * lower[j][k], MATRIX);
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
        let inverse = inverse(MATRIX).unwrap();
        assert_product(
            |i, j, k| MATRIX[i][k] * inverse[k][j],
            diagonal([1.0; TERMS]),
        );
    }
}
