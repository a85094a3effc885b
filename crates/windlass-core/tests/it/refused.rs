//! E58: one item that a provider refuses for ever does not brick a session. It is found by requests without some items, a
//! placeholder stands in for it from then on, and nothing else is lost.

mod tools;

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::event::{Base, CandidateItem, ContextFact, ModelFact, RefusedItems, ResumedBy, RunInput};
use windlass_core::message::{Content, Media, MediaSource, Part, ProviderMetadata, Reasoning};
use windlass_core::model::{
    FailureDetail, FailureKind, ModelChoice, ModelFailure, Refusal, Reply, ReplyCall, RequestView,
    StopReason, Usage,
};
use windlass_core::policy::{Limit, LimitKind, Preset};
use windlass_core::{
    ActionId, ActionKind, CallOutcome, Event, Fact, Input, InputKind, Message, Policy, RunId, State, Status,
    decide, evolve, pending, replay,
};

use crate::environment::{self, BEGINNING};

const WORDS: &str = "could not process image";

fn image(name: &str) -> Part {
    let (media_type, source) = ("image/png".into(), MediaSource::Base64(name.into()));
    Part::Image(Media { media_type, name: Some(name.into()), source })
}

fn text(words: &str) -> Part {
    Part::Text { text: words.into() }
}

fn user(parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message::User { content: Content::Parts(parts), pinned: false })
}

/// The items that a request holds: names of images, seals, ids of calls.
fn items(view: &RequestView) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for message in view.messages.since(0) {
        let content = match &*message {
            Message::User { content, .. } => content.clone(),
            Message::Tool(result) => result.content.clone(),
            Message::Assistant(said) => {
                found.extend(said.calls.iter().map(|call| call.id.as_str().to_owned()));
                let sealed =
                    said.reasoning.as_ref().and_then(|reasoning| reasoning.provider_metadata.as_ref());
                found.extend(sealed.map(|sealed| sealed.data.to_string()));
                Content::Parts(said.media.iter().cloned().map(Part::Image).collect())
            }
            _ => continue,
        };
        let Content::Parts(parts) = content else { continue };
        found.extend(parts.iter().filter_map(|part| match part {
            Part::Image(media) => media.name.as_ref().map(ToString::to_string),
            _ => None,
        }));
    }
    found
}

/// A run against a provider that refuses each request with one of these items.
struct Talk {
    state: State,
    events: Vec<Event>,
    appends: Vec<(usize, windlass_core::event::Cause)>,
    bad: BTreeSet<String>,
    /// It takes sealed reasoning only behind the messages that it was made for: nothing before it may have been left out.
    bound: Option<usize>,
    /// What each request held.
    requests: Vec<BTreeSet<String>>,
    /// The process dies before every reply.
    dies: bool,
    origin: State,
}

impl Talk {
    fn new(bad: &[&str]) -> Self {
        let state = State::new(environment::run_id());
        let bad = bad.iter().map(ToString::to_string).collect();
        let (events, appends, requests) = (Vec::new(), Vec::new(), Vec::new());
        Self { origin: state.clone(), state, events, appends, bad, bound: None, requests, dies: false }
    }

    fn start(&mut self, policy: Policy, models: &[&str], said: Vec<Arc<Message>>) {
        let mut start = environment::start(policy, &Arc::new(environment::tools()));
        let InputKind::Start(started) = &mut start.what else { unreachable!() };
        let model = |name: &&str| ModelChoice { name: (*name).into(), ..ModelChoice::default() };
        started.models = Arc::new(models.iter().map(model).collect());
        started.run = self.state.run();
        let below = self.origin.base_version().map(|_| self.below());
        started.base = below;
        started.input = RunInput::Messages(said);
        self.take(start.what);
    }

    fn below(&self) -> Base {
        Base { run: environment::run_id(), version: self.origin.base_version().unwrap(), digest: "".into() }
    }

    /// The session's next run.
    fn next(self, number: u128) -> Self {
        let state = State::on_base(RunId::from_number(number), &self.state);
        Self {
            origin: state.clone(),
            state,
            events: Vec::new(),
            appends: Vec::new(),
            requests: Vec::new(),
            ..self
        }
    }

    fn take(&mut self, what: InputKind) {
        self.take_at(BEGINNING, what);
    }

    fn take_at(&mut self, at: u64, what: InputKind) {
        let accepted = decide(&self.state, Input { at, what }).unwrap();
        self.events.extend(accepted.events);
        self.appends.push((self.events.len(), accepted.cause));
        self.state = accepted.state;
    }

    fn asked(&self) -> Option<ActionId> {
        let calls = |work: &ActionKind| matches!(work, ActionKind::CallModel { .. });
        pending(&self.state).into_iter().find(|action| calls(&action.work)).map(|action| action.id)
    }

    /// Answers with that, or refuses.
    fn answer(&mut self, reply: &Reply) {
        if self.dies {
            self.take(InputKind::resumed("b", 2, ResumedBy::Person));
        }
        let action = self.asked().unwrap();
        let held = items(&self.state.view(action).unwrap());
        let images = held.iter().filter(|item| item.starts_with("pic")).count();
        let unbound = self.bound.is_some_and(|bound| images < bound && held.contains("seal"));
        let refused = unbound || !held.is_disjoint(&self.bad) || self.bad.contains("everything");
        self.requests.push(held);
        if !refused {
            return self.take(InputKind::replied(action, reply.clone()));
        }
        let failure =
            ModelFailure { status: Some(400), ..ModelFailure::new(FailureKind::BadRequest, WORDS, "m1") };
        self.take(InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 });
    }

    fn finish(&mut self) {
        while self.asked().is_some() {
            self.answer(&said("Seen.", "m1"));
        }
    }

    fn run_tools(&mut self, content: &Content) {
        let runs: Vec<ActionId> = pending(&self.state)
            .into_iter()
            .filter(|action| matches!(action.work, ActionKind::RunTool { .. }))
            .map(|action| action.id)
            .collect();
        for action in runs {
            let outcome = CallOutcome::Ok { content: content.clone() };
            self.take(InputKind::CallEnded { action, outcome });
        }
    }

    fn status(&self) -> Status {
        self.state.ended().unwrap().status
    }

    fn refused(&self) -> Vec<&RefusedItems> {
        let edits = self.events.iter().filter_map(|event| match &event.fact {
            Fact::Context(ContextFact::HistoryEdited(edited)) => edited.refused.as_ref(),
            _ => None,
        });
        edits.collect()
    }

    /// Folding and replaying the stored events gives the same state.
    fn holds(&self) {
        let text = serde_json::to_string(&self.events).unwrap();
        let stored: Vec<Event> = serde_json::from_str(&text).unwrap();
        assert_eq!(stored, self.events);
        assert_eq!(stored.iter().fold(self.origin.clone(), evolve), self.state);
        let (mut state, mut from) = (self.origin.clone(), 0);
        for (to, cause) in &self.appends {
            state = replay(&state, cause, &stored[from..*to]).unwrap();
            from = *to;
        }
        assert_eq!(state, self.state);
        let used: u64 = stored
            .iter()
            .map(|event| match &event.fact {
                Fact::Model(ModelFact::Completed(turn)) => turn.usage.input,
                Fact::Model(ModelFact::ProbeAnswered(probe)) => probe.usage.input,
                _ => 0,
            })
            .sum();
        assert_eq!(self.state.usage().input, used, "every reply is paid for (E41)");
        assert_eq!(self.state.history().fault(), None);
    }

    fn history(&self) -> String {
        let messages: Vec<_> = self.state.history().iter().collect();
        serde_json::to_string(&messages).unwrap()
    }
}

fn said(words: &str, model: &str) -> Reply {
    let usage = Usage { input: 100, output: 5, ..Usage::default() };
    Reply { text: Some(words.into()), stop: StopReason::Stop, usage, model: model.into(), ..Reply::default() }
}

fn called(id: &str, model: &str) -> Reply {
    let call = ReplyCall { id: Some(id.into()), name: "read".into(), args: "{}".into() };
    Reply { text: None, calls: vec![call], ..said("", model) }
}

fn chat() -> Policy {
    Preset::CHAT.policy()
}

fn images(count: usize) -> Vec<Arc<Message>> {
    let names: Vec<String> = (0..count).map(|number| format!("i{number}")).collect();
    let parts = names.iter().map(|name| image(name));
    vec![user([text("Look.")].into_iter().chain(parts).collect())]
}

#[test]
fn e58_one_image_of_five_is_found_and_the_run_goes_on() {
    let mut talk = Talk::new(&["i2"]);
    talk.start(chat(), &["p/m1"], images(5));
    talk.finish();
    assert_eq!(talk.status(), Status::Answered);
    // Refused, all, the first two, the first three, the third alone.
    assert_eq!(talk.requests.len(), 5, "{:?}", talk.requests);
    let refused = talk.refused();
    let [RefusedItems { items, model, message, .. }] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!((items.len(), items[0].at, &items[0].what), (1, 0, &CandidateItem::Image { part: 3 }));
    assert_eq!((&**model, &**message), ("p/m1", WORDS));
    let history = talk.history();
    assert!(history.contains("[image i2 left out: the provider refused it]"), "{history}");
    assert!(["i0", "i1", "i3", "i4"].iter().all(|name| history.contains(&format!("\"base64\":\"{name}\""))));
    assert_eq!(talk.state.counters().model_calls, 4, "each probe counts, the first request failed");
    talk.holds();

    // The session's next run never sends it again.
    let mut next = talk.next(8);
    next.start(chat(), &["p/m1"], vec![user(vec![text("And?")])]);
    next.finish();
    assert_eq!((next.status(), next.requests.len()), (Status::Answered, 1));
    next.holds();
}

/// A request of a search that fails for a reason of its own has not been answered: it is asked again as it was.
#[test]
fn e58_a_request_that_is_refused_because_of_a_tool_says_nothing_about_the_items() {
    let tool = FailureDetail { tool: Some("read".into()), ..FailureDetail::default() };
    let of_a_tool = ModelFailure {
        status: Some(400),
        detail: Some(Box::new(tool)),
        ..ModelFailure::new(FailureKind::BadRequest, "the tool read is not valid", "m1")
    };
    let of_all_tools = ModelFailure {
        status: Some(400),
        refuses: Some(Refusal::Tools),
        ..ModelFailure::new(FailureKind::BadRequest, "no tools, please", "m1")
    };
    for (failure, at) in [&of_a_tool, &of_all_tools].into_iter().flat_map(|failure| {
        // In each place of the search.
        (1..=4).map(move |at| (failure, at))
    }) {
        let mut talk = Talk::new(&["i2"]);
        talk.start(chat(), &["p/m1"], images(5));
        for _ in 0..at {
            talk.answer(&said("Seen.", "m1"));
        }
        let Some(action) = talk.asked() else { panic!("the search goes on at {at}") };
        let held = items(&talk.state.view(action).unwrap());
        talk.take(InputKind::ModelFailed { action, failure: Box::new(failure.clone()), jitter: 0 });
        assert_eq!(items(&talk.state.view(talk.asked().unwrap()).unwrap()), held, "at {at}");
        talk.finish();
        assert_eq!((talk.status(), talk.requests.len()), (Status::Answered, 5));
        let refused = talk.refused();
        let [RefusedItems { items, .. }] = refused.as_slice() else { panic!("{refused:?}") };
        assert_eq!(
            items.iter().map(|item| &item.what).collect::<Vec<_>>(),
            [&CandidateItem::Image { part: 3 }]
        );
        assert_eq!(talk.state.counters().model_calls, 5, "each request of the search counts");
        talk.holds();
    }
}

/// The reply of a request of a search brings usage, which is progress.
#[test]
fn e56_an_answer_within_a_search_puts_off_the_alarm_on_stalls() {
    let mut policy = chat();
    policy.bounds.limits.insert(LimitKind::StallSeconds, Limit { max: 10_000, at_limit: None });
    let mut talk = Talk::new(&["i2"]);
    talk.start(policy, &["p/m1"], images(5));
    talk.answer(&said("Seen.", "m1"));
    let action = talk.asked().unwrap();
    talk.take_at(BEGINNING + 4_000, InputKind::replied(action, said("Seen.", "m1")));
    assert_eq!(talk.state.stall_alarm().unwrap().at, BEGINNING + 14_000);
}

#[test]
fn e58_a_history_that_is_not_to_blame_stays_as_it_was() {
    let mut talk = Talk::new(&["everything"]);
    talk.start(chat(), &["p/m1"], images(3));
    talk.finish();
    assert_eq!(talk.status(), Status::Failed(windlass_core::event::FailKind::Model));
    assert_eq!(talk.requests.len(), 2, "one probe without all of them");
    assert!(talk.refused().is_empty() && talk.requests[1].is_empty());
    assert!(talk.state.ended().unwrap().error.as_ref().unwrap().contains(WORDS));
    assert!(!talk.history().contains("left out"));
    talk.holds();
}

#[test]
fn e42_a_refused_request_without_such_an_item_fails_at_once() {
    let mut talk = Talk::new(&["everything"]);
    talk.start(chat(), &["p/m1", "p/m2"], vec![user(vec![text("Go.")])]);
    talk.finish();
    assert_eq!(
        (talk.requests.len(), talk.status()),
        (1, Status::Failed(windlass_core::event::FailKind::Model))
    );
}

#[test]
fn e58_a_limit_within_the_search_ends_the_run_with_nothing_replaced() {
    let mut policy = chat();
    policy.bounds.limits.insert(LimitKind::ModelCalls, Limit { max: 3, at_limit: None });
    policy.bounds.at_limit = windlass_core::policy::AtLimit::Fail;
    let mut talk = Talk::new(&["i6"]);
    talk.start(policy, &["p/m1"], images(8));
    talk.finish();
    assert_eq!(talk.status(), Status::Limit(LimitKind::ModelCalls));
    assert_eq!(talk.requests.len(), 4, "the refused request, and three probes");
    assert!(talk.refused().is_empty() && !talk.history().contains("left out"));
    talk.holds();
}

#[test]
fn e58_an_image_in_a_result_is_replaced_there() {
    let mut talk = Talk::new(&["shot"]);
    talk.start(chat(), &["p/m1"], vec![user(vec![text("Go."), image("fine")])]);
    talk.answer(&called("c1", "p/m1"));
    talk.run_tools(&Content::Parts(vec![text("Here:"), image("shot")]));
    talk.finish();
    assert_eq!(talk.status(), Status::Answered);
    let history = talk.history();
    assert!(history.contains("[image shot left out") && history.contains("\"base64\":\"fine\""), "{history}");
    talk.holds();
}

/// A reply whose reasoning only its provider can read, and the call that it makes.
fn thought(seal: &str, id: &str, model: &str) -> Reply {
    let sealed = ProviderMetadata { provider: "a".into(), data: seal.into() };
    let reasoning = Reasoning { text: "Hm.".into(), provider_metadata: Some(sealed) };
    Reply { reasoning: Some(reasoning), ..called(id, model) }
}

/// A run of `first` that thinks and calls a tool, and a second one in the session by `second`, which refuses `bad`.
fn crossed(first: &str, second: &str, bad: &[&str]) -> Talk {
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &[first], vec![user(vec![text("Go.")])]);
    talk.answer(&thought("seal", "x:1", first));
    talk.run_tools(&"done".into());
    talk.answer(&said("Done.", first));
    let mut next = talk.next(8);
    next.bad = bad.iter().map(ToString::to_string).collect();
    next.start(chat(), &[second], vec![user(vec![text("And?")])]);
    next.finish();
    next.holds();
    next
}

#[test]
fn e58_reasoning_of_another_model_is_left_out_and_its_words_stay() {
    let talk = crossed("a/m1", "a/m2", &["seal"]);
    assert_eq!((talk.status(), talk.requests.len()), (Status::Answered, 2));
    assert_eq!(talk.refused()[0].items[0].what, CandidateItem::Reasoning);
    let history = talk.history();
    assert!(!history.contains("seal") && history.contains("Hm.") && history.contains("x:1"), "{history}");
    // The same model may have had another key in an earlier run.
    let talk = crossed("a/m1", "a/m1", &["seal"]);
    assert_eq!((talk.status(), talk.requests.len()), (Status::Answered, 2));
}

#[test]
fn e58_an_id_of_another_provider_is_replaced_in_the_call_and_in_its_result() {
    let talk = crossed("a/m1", "b/m2", &["x:1"]);
    assert_eq!((talk.status(), talk.requests.len()), (Status::Answered, 2));
    let new = CandidateItem::CallId { call: "x:1".into(), replacement: "call00001".into() };
    assert_eq!(talk.refused()[0].items[0].what, new);
    let history = talk.history();
    assert!(!history.contains("x:1") && history.matches("call00001").count() == 2, "{history}");
    assert!(history.contains("seal"), "what a wire leaves out anyway stays for its own provider");
    // Within a provider, no id is foreign.
    let talk = crossed("a/m1", "a/m2", &["x:1"]);
    assert_eq!(
        (talk.status(), talk.requests.len()),
        (Status::Failed(windlass_core::event::FailKind::Model), 2)
    );
}

#[test]
fn e58_what_a_model_said_in_this_run_is_no_foreign_item() {
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &["a/m1"], vec![user(vec![text("Go.")])]);
    talk.answer(&thought("seal", "x:1", "a/m1"));
    talk.run_tools(&"done".into());
    talk.bad.insert("everything".into());
    talk.finish();
    assert_eq!(talk.requests.len(), 2, "no probe follows");
}

#[test]
fn e58_a_search_goes_on_after_the_death_of_its_process() {
    let mut whole = Talk::new(&["i1", "i6"]);
    whole.start(chat(), &["p/m1"], images(8));
    whole.finish();
    let mut lost = Talk::new(&["i1", "i6"]);
    lost.dies = true;
    lost.start(chat(), &["p/m1"], images(8));
    lost.finish();
    assert_eq!((whole.status(), lost.status()), (Status::Answered, Status::Answered));
    assert_eq!(whole.requests, lost.requests, "the same requests, each made again");
    assert_eq!(whole.history(), lost.history());
    assert_eq!(whole.state.counters(), lost.state.counters(), "none is counted twice");
    lost.holds();
}

/// A placeholder can be longer than its item: each request of a search is reserved at its own size, and so is each that was
/// lost with its process.
#[test]
fn e40_a_request_without_some_items_is_reserved_at_its_own_size() {
    let mut talk = Talk::new(&["i1"]);
    talk.dies = true;
    talk.start(chat(), &["p/m1"], images(2));
    while let Some(action) = talk.asked() {
        let before = talk.state.reserved().input;
        let view = talk.state.view(action).unwrap();
        let bytes: u64 = view.prompt.iter().chain(view.messages.iter()).map(|message| message.bytes()).sum();
        talk.answer(&said("Seen.", "m1"));
        assert_eq!(talk.state.reserved().input - before, bytes / 4);
    }
    assert!(talk.requests.len() > 2, "there was a search: {:?}", talk.requests);
    assert_eq!(talk.status(), Status::Answered);
}

/// Newer Claude models take a block of thinking only behind the very messages that it was made for ("Preserved thinking").
#[test]
fn e58_reasoning_bound_to_a_replaced_item_goes_with_it() {
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &["a/m1"], vec![user(vec![text("Go."), image("pic1"), image("pic2")])]);
    talk.answer(&thought("seal", "x:1", "a/m1"));
    talk.run_tools(&"done".into());
    (talk.bound, talk.bad) = (Some(2), BTreeSet::from(["pic2".to_owned()]));
    talk.finish();
    assert_eq!(talk.status(), Status::Answered);
    let items: Vec<&CandidateItem> = talk.refused()[0].items.iter().map(|item| &item.what).collect();
    assert_eq!(items, [&CandidateItem::Image { part: 2 }, &CandidateItem::Reasoning]);
    assert!(talk.history().contains("\"base64\":\"pic1\""));
    // Where the provider does not mind, the reasoning stays.
    let mut talk = Talk::new(&[]);
    talk.start(chat(), &["a/m1"], vec![user(vec![text("Go."), image("pic1"), image("pic2")])]);
    talk.answer(&thought("seal", "x:1", "a/m1"));
    talk.run_tools(&"done".into());
    talk.bad.insert("pic2".into());
    talk.finish();
    assert_eq!((talk.status(), talk.refused()[0].items.len()), (Status::Answered, 1));
    assert!(talk.history().contains("seal"));
    talk.holds();
}

#[test]
fn e43_a_fallback_in_a_search_gets_the_whole_conversation() {
    let mut talk = Talk::new(&["i1"]);
    talk.start(chat(), &["p/m1", "q/m2"], images(4));
    talk.answer(&said("", "p/m1"));
    assert!(talk.state.only_probes(talk.asked().unwrap()), "all are left out");
    let action = talk.asked().unwrap();
    let failure = Box::new(ModelFailure::new(FailureKind::Auth, "no key", "p/m1"));
    talk.take(InputKind::ModelFailed { action, failure, jitter: 0 });
    talk.bad.clear();
    talk.finish();
    assert_eq!(talk.requests.last().unwrap().len(), 4);
    assert_eq!(talk.status(), Status::Answered);
    assert!(talk.refused().is_empty());
    talk.holds();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The search finds exactly the items that are refused, and never replaces an innocent one.
    #[test]
    fn e58_exactly_the_refused_items_are_replaced(
        count in 1_usize..20, seeds in prop::collection::btree_set(any::<u8>(), 1..4), dies in any::<bool>(),
    ) {
        let bad: BTreeSet<String> = seeds.iter().map(|seed| format!("i{}", usize::from(*seed) % count)).collect();
        let mut talk = Talk::new(&[]);
        (talk.bad, talk.dies) = (bad.clone(), dies);
        let mut policy = chat();
        policy.bounds.limits.clear();
        talk.start(policy, &["p/m1"], images(count));
        talk.finish();
        prop_assert_eq!(talk.status(), Status::Answered);
        let all: BTreeSet<String> = (0..count).map(|number| format!("i{number}")).collect();
        let left: BTreeSet<String> = all.difference(&bad).cloned().collect();
        prop_assert_eq!(talk.requests.last().unwrap(), &left, "the answer is one to all that may be sent");
        let most = 1 + bad.len() * (2 + usize::BITS as usize - (count - 1).leading_zeros() as usize);
        prop_assert!(talk.requests.len() <= most, "{} requests for {bad:?} of {count}", talk.requests.len());
        talk.holds();
    }
}
