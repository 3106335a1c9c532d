//! Prints a gang: what each member requests, and what all of them reserve together.

use std::fmt::Write;

use super::output::{DIM, PLACE, styled};
use crate::plan::{Gang, Member};

/// Returns a gang as text, a line for each replicated job.
pub(super) fn text(gang: &Gang) -> String {
    let width = gang.members.iter().map(|member| member.name.len());
    let width = width
        .chain(gang.left_out.iter().map(|(name, _)| name.len()))
        .max()
        .unwrap_or_default();
    let mut text = format!(
        "{}, placed by {} all together or not at all\n",
        styled(PLACE, format!("Gang of {}", pods(gang.awaited()))),
        gang.scheduler
    );
    // Writing to a String cannot fail.
    for member in &gang.members {
        let _ = writeln!(text, "  {:width$}  {}", member.name, product(member));
    }
    if gang.members.len() > 1 {
        let _ = writeln!(text, "  {:width$}  {}", "sum", gang.reserves());
    }
    for (name, why) in &gang.left_out {
        let _ = writeln!(
            text,
            "  {name:width$}  {}",
            styled(DIM, format!("# not in it: {why}"))
        );
    }
    text
}

fn product(member: &Member) -> String {
    let of = if member.awaited < member.pods {
        format!("{} of {}", member.awaited, pods(member.pods))
    } else {
        pods(member.pods)
    };
    if member.requests.is_empty() {
        return format!("{of} x nothing requested");
    }
    format!("{of} x ({}) = {}", member.requests, member.reserves())
}

fn pods(number: i64) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} pod{s}")
}
