//! Owns amounts of money as providers report them.

use serde_json::Value;
use serde_json::value::RawValue;

/// Pico-dollars of a tick, xAI's unit of 10⁻¹⁰ USD.
const PICO_A_TICK: f64 = 100.0;

/// Pico-dollars of a dollar.
const PICO_A_USD: f64 = 1e12;

/// The most that is believed of one call: 70,000 USD, in pico-dollars.
const MOST: f64 = 7e16;

/// The parts of a count that say what a call cost, as they came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reported<'r> {
    /// USD: a number, a text, or a map with a total (Perplexity).
    pub(crate) cost: Option<&'r RawValue>,
    /// OpenRouter's map with the cost at the provider behind it ("Usage accounting").
    pub(crate) details: Option<&'r RawValue>,
    /// Whether that provider bills its part to a key of one's own, beside OpenRouter's.
    pub(crate) is_byok: Option<&'r RawValue>,
    /// Ticks of xAI ("Cost").
    pub(crate) ticks: Option<&'r RawValue>,
}

impl Reported<'_> {
    /// The cost in pico-dollars; 0: none is reported. What is no amount counts as absent.
    pub(crate) fn pico(self) -> u64 {
        if let ticks @ 1.. = self.ticks.map_or(0, |raw| pico(&read(raw), PICO_A_TICK)) {
            return ticks;
        }
        let cost = self.cost.map_or(0, |raw| {
            let cost = read(raw);
            pico(cost.get("total_cost").unwrap_or(&cost), PICO_A_USD)
        });
        let behind = self
            .details
            .and_then(|raw| read(raw).get("upstream_inference_cost").map(|cost| pico(cost, PICO_A_USD)))
            .unwrap_or(0);
        if self.is_byok.is_some_and(|raw| raw.get() == "true") {
            cost.saturating_add(behind)
        } else {
            // Without a key of one's own it is a part of the cost.
            cost.max(behind)
        }
    }
}

fn read(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn pico(amount: &Value, unit: f64) -> u64 {
    let amount = amount.as_f64().or_else(|| amount.as_str()?.trim().trim_start_matches('$').parse().ok());
    let pico = (amount.unwrap_or(0.0) * unit).round();
    if (0.0..=MOST).contains(&pico) { pico as u64 } else { 0 }
}
