use super::*;

fn state(failures: u32) -> State {
    let last = Some((Instant::now(), "why".to_owned()));
    State { link: None, lifecycle: Lifecycle::Auto, closed: false, failures, last, starts: 0 }
}

#[tokio::test(start_paused = true)]
async fn e46_the_wait_before_a_restart_doubles_up_to_its_bound() {
    let restart = Restart { first_ms: 500, max_ms: 3_000, tries: 5 };
    let waits: Vec<_> = (1..=5).map(|failures| state(failures).turn(restart)).collect();
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(waits, [ms(500), ms(1_000), ms(2_000), ms(3_000), None]);
}

#[tokio::test(start_paused = true)]
async fn e46_time_that_passed_counts_and_one_try_is_let_through_later() {
    let restart = Restart { first_ms: 500, max_ms: 3_000, tries: 2 };
    let (once, often) = (state(1), state(2));
    tokio::time::advance(Duration::from_millis(400)).await;
    assert_eq!(once.turn(restart), Some(Duration::from_millis(100)));
    assert_eq!(often.turn(restart), None);
    tokio::time::advance(Duration::from_millis(2_600)).await;
    assert_eq!(often.turn(restart), Some(Duration::ZERO));
}
