//! Progress bar of the seeding.

use indicatif::{ProgressBar, ProgressStyle};

/// For [`seed`](super::seed): a bar on stderr; where that is not a terminal, one line at the end.
pub fn progress_bar() -> impl Fn(u64, u64, &'static str) {
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}");
    let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    move |done, total, what| {
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(what);
        if done == total {
            bar.finish_and_clear();
        }
        if done == total && bar.is_hidden() {
            eprintln!("demo data: written");
        }
    }
}
