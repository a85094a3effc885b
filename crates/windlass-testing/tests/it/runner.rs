//! The runner itself, with cases that fall short and cases at the edge of the format.

use std::path::Path;

use windlass_testing::fixture::{Case, FixtureFile};
use windlass_testing::{CaseReport, RunnerOptions, run_case};

/// The cases of a text.
fn cases(text: &str) -> Vec<Case> {
    let file = FixtureFile::parse(text, Path::new("a.yaml")).unwrap();
    file.cases.into_iter().map(Result::unwrap).collect()
}

/// Runs the only case of a text.
fn report(text: &str, options: RunnerOptions) -> CaseReport {
    run_case(&cases(text).remove(0), options)
}

/// Runs the only case of a text in every way, which must hold.
fn holds(text: &str) {
    let report = report(text, RunnerOptions { crash: true, seeds: 40, ..Default::default() });
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What falls short in the only case of a text: its first failure as it is printed.
fn shown(text: &str) -> String {
    report(text, RunnerOptions::default()).failures.first().map(ToString::to_string).unwrap_or_default()
}

/// Two calls that a person must approve, with these answers.
fn two_approvals(human: &str, executions: u32) -> String {
    format!(
        "name: c\nagent: {{ loop: {{ approve: [ t ] }} }}\ntools: {{ t: {{ does: [ {{ reply: x }} ] }} }}\n\
         model: [ {{ calls: [ {{ name: t, args: {{ a: 1 }}, id: c1 }}, {{ name: t, args: {{ a: 2 }}, id: c2 }} ] }}, {{ text: p }} ]\n\
         human: [ {human} ]\ninput: Hi\n\
         expect: {{ status: suspended, executions: {{ t: {executions} }} }}"
    )
}

#[test]
fn a_second_question_without_an_answer_leaves_the_run_suspended() {
    holds(&two_approvals("{ asked: approval, answer: approve }", 1));
    holds(&two_approvals("{ asked: approval, answer: deny }", 0));
    holds(&two_approvals("{ asked: approval, answer: approve, after_ms: 10 }", 1));
    holds(&two_approvals("{ asked: approval, answer: approve, for: c2 }", 1));
    holds(&two_approvals(
        "{ asked: approval, answer: approve }, { asked: approval, answer: deny, wrong: true }",
        1,
    ));
}

#[test]
fn a_run_without_memory_stands_on_nothing() {
    holds(
        "name: c\nagent: { instructions: S., loop: { preset: text, memory: off } }\n\
         model: [ { text: a }, { text: b } ]\n\
         runs: [ { input: one, expect: { text: a } }, { input: two, expect: { text: b } } ]\n\
         expect: { requests: { 2: { messages: [ { role: system }, { role: user, text: two } ] } } }",
    );
}

#[test]
fn e15_pieces_may_space_the_arguments_as_they_like() {
    holds(
        "name: c\ntools: { t: { does: [ { reply: x } ] } }\n\
         model:\n\
         - calls: [ { name: t, args: { n: 7 } } ]\n  \
           deltas: [ { call: 0, name: t }, { call: 0, args: '{\"n\"' }, { call: 0, args: ': 7}' } ]\n\
         - { text: done }\n\
         input: Hi\nexpect: { status: answered, executed: { t: [ { n: 7 } ] } }",
    );
}

#[test]
fn a_refusal_of_a_forced_choice_that_the_log_lost_comes_again() {
    holds(
        "name: c\n\
         agent: { output: { schema: { type: object, properties: { n: { type: number } }, required: [n] } }, \
                  loop: { preset: typed, limits: { max_steps: 1 } } }\n\
         tools: { t: { does: [ { reply: x } ] } }\n\
         model: [ { calls: [ { name: t } ] }, { text: '<output><n>7</n></output>', tool_choice_unsupported: true } ]\n\
         input: go\n\
         expect: { status: limit, output: { n: 7 }, requests: { 2: { tool_choice: __finish__ }, 3: { messages: { count: 4 } } } }",
    );
}

#[test]
fn e41_a_call_that_a_deadline_or_a_cancel_breaks_off_is_paid_as_the_script_says() {
    let model = "model: [ { text: abcdefghij, takes_ms: 10000, usage: { input: 100, output: 10 } } ]";
    holds(&format!(
        "name: c\nagent: {{ loop: {{ limits: {{ seconds: 1 }} }} }}\n{model}\ninput: Hi\n\
         expect: {{ status: limit, usage: {{ input: 100, output: 10 }} }}"
    ));
    holds(&format!(
        "name: c\n{model}\ncancel: {{ during: model, call: 1 }}\ninput: Hi\n\
         expect: {{ status: cancelled, usage: {{ input: 100, output: 10 }} }}"
    ));
    holds(&format!(
        "name: c\nagent: {{ loop: {{ limits: {{ seconds: 1 }} }} }}\npeers: {{ w: {{ agent: {{ instructions: x }}, {model} }} }}\n\
         model: [ {{ calls: [ {{ name: w, args: {{ task: t }} }} ], usage: {{ input: 7, output: 1 }} }} ]\ninput: Hi\n\
         expect: {{ status: limit, usage: {{ input: 107, output: 11 }} }}"
    ));
}

#[test]
fn e42_a_scripted_model_has_the_time_in_all_that_the_agent_gives_a_real_one() {
    let late = |settings: &str, models: &str, ends: &str| {
        holds(&format!(
            "name: c\nagent: {{ {settings} }}\nmodel: [ {models} ]\ninput: Hi\nexpect: {{ {ends} }}"
        ));
    };
    let total = "timeouts: { total_ms: 1000 }, retry: { retries: 0 }";
    late(total, "{ text: done, takes_ms: 1000 }", "status: answered, virtual_ms: 1000");
    late(
        total,
        "{ text: done, takes_ms: 1001, usage: { input: 3 } }",
        "status: failed, error: model, virtual_ms: 1000, usage: { input: 3 }",
    );
    late(
        "timeouts: { total_ms: 1000 }, retry: { retries: 1, wait_ms: 5, max_wait_ms: 5 }",
        "{ text: late, takes_ms: 5000 }, { text: done }",
        "status: answered, text: done, model_calls: 2",
    );
    // The preset says it where the agent does not.
    late(
        "loop: { preset: text }, retry: { retries: 0 }",
        "{ text: late, takes_ms: 60001 }",
        "status: failed, virtual_ms: 60000",
    );
    late("retry: { retries: 0 }", "{ text: done, takes_ms: 60001 }", "status: answered, virtual_ms: 60001");
    // Each model has its own.
    late(
        "model: [ { use: m1, timeouts: { total_ms: 10 } }, { use: m2, timeouts: { total_ms: 20 } } ], retry: { retries: 0 }",
        "{ text: late, takes_ms: 15, by: m1 }, { text: done, takes_ms: 15, by: m2 }",
        "status: answered, text: done, virtual_ms: 25",
    );
}

#[test]
fn a_built_in_tool_that_really_runs_counts() {
    holds(
        "name: c\nagent: { tools: [ { builtin: [ calculate ] } ] }\n\
         model: [ { calls: [ { name: calculate, args: { expression: 1+1 } } ] }, { text: done } ]\n\
         input: Hi\n\
         expect: { executions: { calculate: 1 }, executed: { calculate: [ { expression: 1+1 } ] } }",
    );
    holds(
        "name: c\nagent: { tools: [ { builtin: { calculate: { approve: true } } } ] }\n\
         model: [ { calls: [ { name: calculate, args: { expression: 1+1 } } ] } ]\n\
         input: Hi\nexpect: { status: suspended, executions: { calculate: 0 } }",
    );
}

#[test]
fn a_command_is_offered_and_a_call_of_it_says_what_the_case_lacks() {
    let wc = "name: c\nagent: { tools: [ { command: { name: wc, run: [ wc, -w, '{path}' ], description: Counts., effect: read_only } } ] }\ninput: Hi\n";
    holds(&format!(
        "{wc}model: [ {{ text: done }} ]\n\
         expect: {{ requests: {{ 1: {{ tools: [ wc ], tool_schema: {{ wc: {{ type: object, properties: {{ path: {{ type: string }} }}, required: [ path ], additionalProperties: false }} }} }} }} }}"
    ));
    let calls =
        format!("{wc}model: [ {{ calls: [ {{ name: wc, args: {{ path: a }} }} ] }}, {{ text: done }} ]\n");
    let failure = shown(&calls);
    assert!(
        failure.contains(
            "the tool `wc` reaches out of the case and is not run: it needs an entry under `tools:`"
        ),
        "{failure}"
    );
    holds(&format!(
        "{calls}tools: {{ wc: {{ does: [ {{ reply: 3 }} ] }} }}\nexpect: {{ status: answered, executions: {{ wc: 1 }} }}"
    ));
}

/// A command that tells its key and its argument, beside another, which really run in a case with these lines.
fn real(lines: &str) -> String {
    format!(
        "name: c\nagent: {{ tools: [ {{ command: {{ name: say, run: [ echo, said, '{{word}}' ], effect: read_only }} }}, \
         {{ command: {{ name: once, run: [ printenv, WINDLASS_IDEMPOTENCY_KEY ] }} }} ] }}\n\
         real_tools: [ say, once ]\ninput: Hi\n{lines}"
    )
}

#[test]
fn real_tools_take_no_time_and_end_in_the_order_of_their_calls() {
    holds(&real(
        "model: [ { calls: [ { name: say, args: { word: a }, id: c1 }, { name: say, args: { word: b }, id: c2 } ] }, { text: p } ]\n\
         expect: { status: answered, virtual_ms: 0, executed: { say: [ { word: a }, { word: b } ] }, \
         requests: { 2: { messages: { contains: [ { role: tool, text: said a }, { role: tool, text: said b } ] } } } }",
    ));
}

#[test]
fn a_real_call_that_happens_once_is_not_repeated_and_keeps_its_key() {
    holds(&real(
        "model: [ { calls: [ { name: once, args: {} } ] }, { text: p } ]\n\
         expect: { status: answered, executions: { once: 1 }, requests: { 2: { last: { role: tool, text: { matches: '.+' } } } } }",
    ));
}

#[test]
fn a_real_call_that_is_cancelled_does_not_begin() {
    let report = report(
        &real(
            "model: [ { calls: [ { name: say, args: { word: a } } ] } ]\ncancel: { during: tool }\n\
             expect: { status: cancelled, virtual_ms: 0, executions: { say: 1 } }",
        ),
        RunnerOptions { crash: true, seeds: 20, ..Default::default() },
    );
    assert!(report.passed(), "{:?}", report.failures);
    assert!(!report.log.join("\n").contains("said a"), "{:#?}", report.log);
}

#[test]
fn a_real_tool_that_cannot_be_started_says_so_to_the_model() {
    holds(
        "name: c\nagent: { tools: [ { command: { name: gone, run: [ ./no-such-program ], effect: read_only } } ] }\n\
         real_tools: ['g*']\ninput: Hi\nmodel: [ { calls: [ { name: gone, args: {} } ] }, { text: p } ]\n\
         expect: { status: answered, requests: { 2: { last: { role: tool, text: { contains: cannot run } } } } }",
    );
}

/// Three model calls with a tool between them, and what is expected of it.
fn three_calls(expect: &str) -> String {
    shown(&format!(
        "name: c\ntools: {{ t: {{ does: [ {{ reply: x }} ] }} }}\n\
         model: [ {{ calls: [ {{ name: t }} ] }}, {{ calls: [ {{ name: t, args: {{ a: 1 }} }} ] }}, {{ text: p }} ]\n\
         input: Hi\nexpect: {{ {expect} }}"
    ))
}

#[test]
fn a_difference_in_a_request_shows_that_request_and_the_log_up_to_it() {
    insta::assert_snapshot!(three_calls("text: q, requests: { 2: { last: { text: Ho } }, 3: { last: { text: Ho } } }"), @r#"
blocking: requests.2.last.text: expected "Ho", found "x"
blocking: requests.3.last.text: expected "Ho", found "x"
blocking: text: expected "q", found "p"
  the events up to the first difference:
       0 ms  RunStarted agent agent
       0 ms  TurnStarted turn 1 attempt 1
       0 ms  TurnCompleted t({}) call_1_1
       0 ms  CallStarted {"call":"call_1_1","attempt":1}
       0 ms  CallFinished call_1_1 {"outcome":"ok","content":"x"}
       0 ms  TurnStarted turn 2 attempt 1
  request 2 to the model:
    { role: user, text: "Hi" }
    { role: assistant, calls: [{ name: t, args: "{}", id: call_1_1 }] }
    { role: tool, name: t, call_id: call_1_1, text: "x" }
    model: scripted, tools: [t], tool_choice: auto
"#);
    let never_sent = three_calls("requests: { 4: { last: { text: Ho } } }");
    assert!(
        never_sent.contains("RunEnded") && never_sent.contains("last request to the model:"),
        "{never_sent}"
    );
}

#[test]
fn a_difference_in_the_events_shows_the_log_up_to_the_first_that_differs() {
    insta::assert_snapshot!(three_calls("text: q, events: [RunStarted, TurnStarted, TurnCompleted, RunEnded]"), @r#"
blocking: events.3: 
  expected RunEnded
  found    CallStarted in [RunStarted, TurnStarted, TurnCompleted, CallStarted, CallFinished, TurnStarted, TurnCompleted, CallStarted, CallFinished, TurnStarted, TurnCompleted, RunEnded]
blocking: text: expected "q", found "p"
  the events up to the first difference:
       0 ms  RunStarted agent agent
       0 ms  TurnStarted turn 1 attempt 1
       0 ms  TurnCompleted t({}) call_1_1
       0 ms  CallStarted {"call":"call_1_1","attempt":1}
  request 1 to the model:
    { role: user, text: "Hi" }
    model: scripted, tools: [t], tool_choice: auto
"#);
}

#[test]
fn a_wrong_answer_that_fits_is_named_with_the_log() {
    let failure = shown(
        "name: c\nagent: { loop: { approve: [ a ] } }\ntools: { a: { does: [ { reply: ra } ] } }\n\
         model: [ { calls: [ { name: a } ] }, { text: p } ]\n\
         human: [ { asked: approval, answer: approve, wrong: true } ]\ninput: Hi",
    );
    insta::assert_snapshot!(failure, @r#"
blocking: human.0: expected the answer in line 5 is refused, as `wrong: true` says, found question q1 accepted it
       0 ms  RunStarted agent agent
       0 ms  TurnStarted turn 1 attempt 1
       0 ms  TurnCompleted a({}) call_1_1
       0 ms  CallHeld {"call":"call_1_1","digest":"beae0ef69ee62f2402ec309a3eb4a53d92e90d8e77277fc24c8e0f0ecc243abe"}
       0 ms  InputRequested {"question":"q1","kind":"approval","call":"call_1_1","text":"May `a` run with {}? (call call_1_1)"}
       0 ms  InputReceived {"question":"q1","answer":"approve"}
  request 1 to the model:
    { role: user, text: "Hi" }
    model: scripted, tools: [a], tool_choice: auto
"#);
}

#[test]
fn a_second_run_of_a_busy_session_is_no_refusal_of_the_agent() {
    let failure = shown(
        "name: c\nagent: { loop: { approve: [ a ] } }\ntools: { a: { does: [ { reply: ra } ] } }\n\
         model: [ { calls: [ { name: a } ] }, { text: p } ]\nruns: [ { input: one }, { input: two } ]",
    );
    insta::assert_snapshot!(failure, @r#"
blocking: run 2: 
  expected no error
  found    session case is busy: its run 00000000-0000-0000-0000-000000000001 has not ended
       0 ms  RunStarted agent agent
       0 ms  TurnStarted turn 1 attempt 1
       0 ms  TurnCompleted a({}) call_1_1
       0 ms  CallHeld {"call":"call_1_1","digest":"beae0ef69ee62f2402ec309a3eb4a53d92e90d8e77277fc24c8e0f0ecc243abe"}
       0 ms  InputRequested {"question":"q1","kind":"approval","call":"call_1_1","text":"May `a` run with {}? (call call_1_1)"}
  last request to the model:
    { role: user, text: "one" }
    model: scripted, tools: [a], tool_choice: auto
"#);
}

#[test]
fn e6_a_call_of_a_servers_tool_that_nobody_scripted_fails_the_case() {
    let case = |unknown: &str, name: &str| {
        format!(
            "name: c\nagent: {{ tools: [ {{ mcp: {{ name: files, command: [ files ] }} }} ] }}\n{unknown}\
             tools: {{ files__read: {{ does: [ {{ reply: x }} ] }} }}\n\
             model: [ {{ calls: [ {{ name: {name}, id: a }} ] }}, {{ text: done }} ]\ninput: go\n\
             expect: {{ status: answered }}\n"
        )
    };
    let found = shown(&case("", "files__write"));
    assert!(found.contains("`files__write` was called, which has none"), "{found}");
    assert_eq!(shown(&case("unknown: true\n", "files__write")), "");
    assert_eq!(shown(&case("", "file_read")), "");
}
