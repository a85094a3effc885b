//! PDFs that become text where a model takes none.
#![cfg(feature = "pdf")]

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use windlass_core::event::{PeopleFact, Steered};
use windlass_core::message::{Content, Media, MediaSource, Part, Ref};
use windlass_core::{Answer, Fact, Message, RunState, SessionId};
use windlass_error::{Diagnostic as _, Kind};
use windlass_models::ModelRequest;
use windlass_runtime::{Admitted, Agent, AgentBuilder, DriveOptions, Error, Run};
use windlass_store::{Inbox as _, Index as _, Payloads as _, RunFilter};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use crate::ground::{Ground, options};

/// A PDF with one page for each text, without a table of its objects.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut file = "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
        3 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj\n"
        .to_owned();
    let mut kids = String::new();
    for (at, text) in pages.iter().enumerate() {
        let (page, content) = (10 + 2 * at, 11 + 2 * at);
        let drawn = format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET");
        write!(kids, "{page} 0 R ").unwrap();
        write!(
            file,
            "{page} 0 obj << /Type /Page /Parent 2 0 R /Resources << /Font << /F 3 0 R >> >> /Contents {content} 0 R >> endobj\n\
             {content} 0 obj << /Length {} >> stream\n{drawn}\nendstream endobj\n",
            drawn.len()
        )
        .unwrap();
    }
    write!(
        file,
        "2 0 obj << /Type /Pages /Count {} /Kids [{kids}] >> endobj\ntrailer << /Root 1 0 R >>\n",
        pages.len()
    )
    .unwrap();
    file.into_bytes()
}

fn file(bytes: &[u8]) -> Part {
    let source = MediaSource::Base64(BASE64.encode(bytes).into());
    Part::File(Media { media_type: "application/pdf".into(), name: Some("report.pdf".into()), source })
}

fn question(part: Part) -> Vec<Message> {
    let parts = vec![Part::Text { text: "Sum it up.".into() }, part];
    vec![Message::User { content: Content::Parts(parts), pinned: false }]
}

/// An agent whose model takes text alone.
fn agent(ground: &Ground, model: &FnModel) -> AgentBuilder {
    let model = model.clone().taking(|part| matches!(part, Part::Text { .. } | Part::Stored(_)));
    taking_all(ground, model)
}

fn taking_all(ground: &Ground, model: FnModel) -> AgentBuilder {
    Agent::builder("tested")
        .model(("m", Arc::new(model)))
        .log(ground.log.clone())
        .environment(Arc::new(ground.environment.clone()))
}

fn run(ground: &Ground, agent: &Agent, input: Vec<Message>) -> Result<Run, Error> {
    ground.wait(async { agent.prepare(input, options()).await?.drive().await })
}

fn parts_of(request: &ModelRequest) -> Vec<Part> {
    let last = request.whole().last().expect("a message").into_owned();
    match last.content().expect("content") {
        Content::Parts(parts) => parts.clone(),
        Content::Text(text) => vec![Part::Text { text: text.clone() }],
    }
}

fn stored(part: &Part) -> &Ref {
    match part {
        Part::Stored(stored) | Part::File(Media { source: MediaSource::Stored(stored), .. }) => stored,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pdf_is_sent_as_its_text_page_by_page_and_the_file_stays_in_the_log() {
    let ground = Ground::new();
    let model = FnModel::script([text_reply("done")]);
    let bytes = pdf(&["Sales rose.", "", "Costs fell."]);
    run(&ground, &agent(&ground, &model).build().unwrap(), question(file(&bytes))).unwrap();
    let sent = parts_of(&model.requests()[0]);
    let [Part::Text { .. }, original, Part::Text { text }] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(
        &**text,
        "[report.pdf: sent as the text of its 3 pages, since m takes no PDF]\n\n\
         [page 1 of 3]\nSales rose.\n\n[page 2 of 3: no text]\n\n[page 3 of 3]\nCosts fell."
    );
    let kept = ground.wait(ground.memory.get(&stored(original).sha256, 0, usize::MAX)).unwrap();
    assert_eq!(BASE64.decode(&*kept).unwrap(), bytes);
}

#[test]
fn a_model_that_takes_pdfs_is_sent_the_file_itself() {
    let ground = Ground::new();
    let model = FnModel::script([text_reply("done")]);
    let part = file(&pdf(&["Sales rose."]));
    run(&ground, &taking_all(&ground, model.clone()).build().unwrap(), question(part.clone())).unwrap();
    assert_eq!(parts_of(&model.requests()[0])[1], part);
    assert_eq!(ground.memory.payloads(), 0);
}

#[test]
fn what_cannot_be_read_is_refused_before_a_run_begins() {
    let mut encrypted = pdf(&["secret"]);
    encrypted.extend_from_slice(b"trailer << /Root 1 0 R /Encrypt << /V 1 >> >>");
    for (bytes, code, kind) in [
        (encrypted, "pdf.encrypted", Kind::Invalid),
        (b"%PDF-1.4 cut".to_vec(), "pdf.broken", Kind::Invalid),
        (pdf(&["", ""]), "pdf.no_text", Kind::Invalid),
        (pdf(&vec!["page"; 2_001]), "pdf.too_many_pages", Kind::Exhausted),
    ] {
        let ground = Ground::new();
        let model = FnModel::script([]);
        let error =
            run(&ground, &agent(&ground, &model).build().unwrap(), question(file(&bytes))).unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, kind), "{error:?}");
        let words = windlass_error::in_full(&error);
        assert!(
            words.contains("the file `report.pdf` cannot be sent as text to m, whose API takes no PDF: "),
            "{words}"
        );
        assert!(error.help().is_some());
        assert!(ground.wait(ground.memory.list(RunFilter::default())).unwrap().is_empty());
        assert_eq!((model.requests().len(), ground.memory.payloads()), (0, 0));
    }
    let ground = Ground::new();
    let broken = Part::File(Media {
        media_type: "application/pdf".into(),
        name: None,
        source: MediaSource::Base64("%%%".into()),
    });
    let error =
        run(&ground, &agent(&ground, &FnModel::script([])).build().unwrap(), question(broken)).unwrap_err();
    assert_eq!(error.code(), "pdf.broken");
}

#[test]
fn a_pdf_that_is_elsewhere_is_refused_as_nothing_here_can_read_it() {
    let ground = Ground::new();
    for source in
        [MediaSource::Url("https://example.org/a.pdf".into()), MediaSource::ProviderFile("file-7".into())]
    {
        let part = Part::File(Media { media_type: "application/pdf".into(), name: None, source });
        let agent = agent(&ground, &FnModel::script([])).build().unwrap();
        assert_eq!(run(&ground, &agent, question(part)).unwrap_err().code(), "run.media_not_taken");
    }
}

#[test]
fn a_long_text_is_stored_and_the_model_reads_the_rest_by_ranges() {
    let ground = Ground::new();
    let page = "many words ".repeat(200);
    let bytes = pdf(&vec![page.as_str(); 100]);
    let probe = FnModel::new(|request| {
        let sent = parts_of(request);
        match sent.get(2) {
            Some(Part::Stored(stored)) => {
                let args = format!(r#"{{"handle": "{}", "offset": 100000}}"#, stored.handle());
                called(&[("read_result", &args)])
            }
            _ => text_reply("done"),
        }
    });
    let done = run(&ground, &agent(&ground, &probe).build().unwrap(), question(file(&bytes))).unwrap();
    assert_eq!(done.text(), Some("done"), "{:?}", done.status());
    let first = parts_of(&probe.requests()[0]);
    assert!(stored(&first[2]).bytes > 200_000 && stored(&first[2]).head.contains("[page 1 of 100]"));
    let read = parts_of(&probe.requests()[1]);
    assert!(matches!(&read[..], [Part::Text { text }] if text.contains("many words")), "{read:?}");
}

#[test]
fn a_request_that_is_sent_twice_begins_one_run() {
    let ground = Ground::new();
    let model = FnModel::script([text_reply("done")]);
    let agent = agent(&ground, &model).build().unwrap();
    let keyed = || DriveOptions { key: Some("k1".into()), ..options() };
    let input = || question(file(&pdf(&["Sales rose."])));
    ground.wait(async { agent.prepare(input(), keyed()).await.unwrap().drive().await.unwrap() });
    let again = ground.wait(agent.prepare(input(), keyed())).map(|_| ()).unwrap_err();
    assert!(matches!(again, Error::Repeated { .. }), "{again:?}");
    let other = question(file(&pdf(&["Sales fell."])));
    let other = ground.wait(agent.prepare(other, keyed())).map(|_| ()).unwrap_err();
    assert!(matches!(other, Error::KeyReused { .. }), "{other:?}");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn later_runs_of_a_session_have_the_text() {
    let ground = Ground::new();
    let model = FnModel::script([text_reply("Up."), text_reply("By 3 %.")]);
    let agent = agent(&ground, &model).build().unwrap();
    let in_session = || DriveOptions { session: Some(SessionId::from("s")), ..options() };
    let first = question(file(&pdf(&["Sales rose."])));
    ground.wait(async { agent.prepare(first, in_session()).await.unwrap().drive().await.unwrap() });
    ground.wait(async { agent.prepare("By how much?", in_session()).await.unwrap().drive().await.unwrap() });
    let request = &model.requests()[1];
    assert!(
        request
            .whole()
            .any(|message| message.content().is_some_and(|content| content.text().contains("Sales rose.")))
    );
}

/// A tool that gives a file.
fn fetching(part: Part) -> FnTool {
    FnTool::new("fetch", move |_, _| {
        let part = part.clone();
        async { Ok(Content::Parts(vec![part])) }
    })
}

fn result_of(ground: &Ground, builder: AgentBuilder, model: &FnModel, part: Part) -> Vec<Part> {
    run(ground, &builder.tool(fetching(part)).build().unwrap(), vec![Message::user("Go")]).unwrap();
    parts_of(&model.requests()[1])
}

fn fetches() -> FnModel {
    FnModel::script([called(&[("fetch", "{}")]), text_reply("done")])
}

#[test]
fn a_pdf_in_a_tools_result_is_followed_by_its_text() {
    let (ground, model) = (Ground::new(), fetches());
    let part = file(&pdf(&["Sales rose."]));
    let sent = result_of(&ground, agent(&ground, &model), &model, part.clone());
    let text = "[report.pdf: the text of its 1 page]\n\n[page 1 of 1]\nSales rose.";
    assert_eq!(sent, [part.clone(), Part::Text { text: text.into() }]);
    // A model that takes it needs no text.
    let (ground, model) = (Ground::new(), fetches());
    assert_eq!(result_of(&ground, taking_all(&ground, model.clone()), &model, part.clone()), [part]);
}

#[test]
fn a_pdf_in_a_tools_result_that_is_too_long_to_be_sent_is_followed_by_its_text() {
    let (ground, model) = (Ground::new(), fetches());
    let mut bytes = pdf(&["Sales rose."]);
    bytes.extend(vec![b'\n'; 100_000]);
    let sent = result_of(&ground, taking_all(&ground, model.clone()), &model, file(&bytes));
    let [original, Part::Text { text }] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(stored(original).bytes > 100_000 && text.ends_with("Sales rose."));
}

#[test]
fn a_pdf_in_a_tools_result_that_cannot_be_read_is_followed_by_the_reason() {
    let (ground, model) = (Ground::new(), fetches());
    let part = file(b"%PDF-1.4 cut");
    let sent = result_of(&ground, agent(&ground, &model), &model, part.clone());
    let text = "[report.pdf cannot be read as text: it is not a PDF, or is damaged]";
    assert_eq!(sent, [part, Part::Text { text: text.into() }]);
}

#[test]
fn a_message_whose_pdf_cannot_be_read_is_refused_at_once_and_not_when_its_turn_comes() {
    let ground = Ground::new();
    let model = FnModel::script([called(&[("pay", "{}")])]);
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let queue = serde_json::json!({ "while_running": "queue" });
    let agent = agent(&ground, &model).tool(pay).settings(&queue).build().unwrap();
    let waits = run(&ground, &agent, vec![Message::user("Pay.")]).unwrap();
    assert_eq!(waits.run_state(), RunState::Suspended);
    let admit = |bytes: &[u8]| ground.wait(agent.admit(question(file(bytes)), options()));
    assert_eq!(admit(b"%PDF-1.4 cut").map(|_| ()).unwrap_err().code(), "pdf.broken");
    assert!(matches!(admit(&pdf(&["Sales rose."])), Ok(Admitted::Queued { .. })));
}

/// An agent with a run that waits for a person, so that messages to its session steer that run.
fn waiting(ground: &Ground, model: &FnModel, taken: fn(&Part) -> bool) -> Agent {
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let agent = taking_all(ground, model.clone().taking(taken)).tool(pay);
    let agent = agent.settings(&serde_json::json!({ "while_running": "steer" })).build().unwrap();
    let waits = run(ground, &agent, vec![Message::user("Pay.")]).unwrap();
    assert_eq!(waits.run_state(), RunState::Suspended);
    agent
}

fn image() -> Part {
    let source = MediaSource::Base64("iVBORw0KGgo=".into());
    Part::Image(Media { media_type: "image/png".into(), name: Some("plan.png".into()), source })
}

fn approve(ground: &Ground, agent: &Agent) -> Run {
    let head = ground.wait(ground.memory.list(RunFilter::default())).unwrap().items.remove(0).run;
    ground.wait(agent.answer(head, "q1", Answer::Approve)).unwrap();
    ground.wait(agent.resume(head).into_future()).unwrap()
}

#[test]
fn issue_27_images_and_documents_of_a_message_that_steers_enter_with_it() {
    let ground = Ground::new();
    let model = FnModel::script([called(&[("pay", "{}")]), text_reply("Seen.")]);
    let agent = waiting(&ground, &model, |part| !matches!(part, Part::File(_)));
    let mut said = question(file(&pdf(&["Sales rose."])));
    let Some(Message::User { content: Content::Parts(parts), .. }) = said.first_mut() else { panic!() };
    parts.push(image());
    assert!(matches!(ground.wait(agent.admit(said, options())), Ok(Admitted::Steered { .. })));
    assert_eq!(approve(&ground, &agent).text(), Some("Seen."));
    let sent = parts_of(&model.requests()[1]);
    let [Part::Text { text: words }, original, Part::Text { text }, drawn] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert!(words.contains("Sum it up.") && text.ends_with("Sales rose."), "{sent:?}");
    assert!(stored(original).bytes > 0);
    assert_eq!(*drawn, image());
}

#[test]
fn issue_27_a_message_that_steers_with_what_the_model_cannot_be_sent_is_refused_at_once() {
    let ground = Ground::new();
    let model = FnModel::script([called(&[("pay", "{}")]), text_reply("done")]);
    let agent = waiting(&ground, &model, |part| matches!(part, Part::Text { .. }));
    let head = ground.wait(ground.memory.list(RunFilter::default())).unwrap().items.remove(0).run;
    for (part, code) in [(image(), "run.media_not_taken"), (file(b"%PDF-1.4 cut"), "pdf.broken")] {
        let admitted = ground.wait(agent.admit(question(part.clone()), options()));
        assert_eq!(admitted.map(|_| ()).unwrap_err().code(), code);
        let said = Steered::from("Look at this.").with_parts(vec![part]);
        assert_eq!(ground.wait(agent.steer(head, said)).map(|_| ()).unwrap_err().code(), code);
    }
    assert!(ground.wait(ground.memory.inbox(head, None)).unwrap().is_empty());
    assert_eq!(approve(&ground, &agent).text(), Some("done"));
}

/// A sender that does not know the agent.
#[test]
fn issue_27_a_driver_refuses_what_its_model_cannot_be_sent_and_says_so_to_the_sender() {
    for part in [image(), file(b"%PDF-1.4 cut")] {
        let ground = Ground::new();
        let model = FnModel::script([called(&[("look", "{}")]), text_reply("done")]);
        let look = crate::scenarios::slow_tool(&ground, "look", 50);
        let agent = agent(&ground, &model).tool(look).build().unwrap();
        let prepared = ground.wait(agent.prepare("Go.", options())).unwrap();
        let handle = prepared.handle();
        let said = Steered::from("Look at this.").with_parts(vec![part]);
        let (run, sent) = ground.wait(futures_util::future::join(prepared.drive(), handle.steer(said)));
        assert_eq!(sent.unwrap_err().code(), "input.bad_attachment");
        assert_eq!(run.unwrap().text(), Some("done"), "the run goes on");
    }
}

#[test]
fn issue_27_a_pinned_input_that_steers_is_pinned() {
    let ground = Ground::new();
    let model = FnModel::script([called(&[("pay", "{}")]), text_reply("done")]);
    let agent = waiting(&ground, &model, |_| true);
    let said = windlass_runtime::RunMessages::from(question(image())).pinned();
    assert!(matches!(ground.wait(agent.admit(said, options())), Ok(Admitted::Steered { .. })));
    let run = approve(&ground, &agent);
    let pinned = |fact: &Fact| matches!(fact, Fact::People(PeopleFact::Steered(said)) if said.pinned);
    assert!(ground.facts(run.id()).iter().any(pinned));
}
