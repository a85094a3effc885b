//! Owns the offline tour: a stand-in for a language model that shows what agents and tools do, without any network.

use windlass_core::{Reply, Usage};

use crate::{Delta, Deltas, Model, ModelRequest};

/// The offline model `tour`: no language model, but a few rules that find work for the tools that are offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tour;

impl Model for Tour {
    fn provider(&self) -> &'static str {
        "windlass"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let reply = Reply {
            text: Some("I am the offline tour.".into()),
            usage: Usage { estimated: true, ..Usage::default() },
            model: request.model.name,
            ..Reply::default()
        };
        Box::pin(futures_util::stream::iter([Ok(Delta::Whole(Box::new(reply)))]))
    }
}
