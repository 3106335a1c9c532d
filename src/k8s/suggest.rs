//! "Did you mean": the known name that is most like a mistyped one.
//!
//! Names come from users, so both the work and the text are bounded.

/// Longest name that is compared or listed, in bytes.
const LONGEST: usize = 64;
/// Most known names that are compared.
const COMPARED: usize = 200;
/// Most known names that a message lists.
const LISTED: usize = 10;

/// Finds the known name that is most like `wanted`, if one is near enough to be what was meant.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.len() > LONGEST {
        return None;
    }
    let lower = wanted.to_lowercase();
    known
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .take(COMPARED)
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().min(wanted.len()) / 4)
        .min()
        .map(|(_, name)| name)
}

/// Returns the end of a message about an unknown name: the nearest known one, or a list where none is near.
pub fn hint<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    if let Some(name) = nearest(wanted, known.iter().copied()) {
        return format!("; did you mean {name:?}?");
    }
    match list(&known) {
        Some(names) => format!("; it has {names}"),
        None => "; it has none".to_owned(),
    }
}

/// Lists the first known names and the number of the others; `None` if there are none.
pub fn list(known: &[&str]) -> Option<String> {
    let names: Vec<String> = known
        .iter()
        .filter(|name| name.len() <= LONGEST)
        .take(LISTED)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = known.len() - names.len();
    match (names.is_empty(), more) {
        (true, 0) => None,
        (true, more) => Some(format!("{more} with long names")),
        (false, 0) => Some(names.join(", ")),
        (false, more) => Some(format!("{} and {more} more", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_else_all_are_listed() {
        let known = ["node", "launcher"];
        assert_eq!(hint("nodes", known.into_iter()), "; did you mean \"node\"?");
        assert_eq!(hint("zzz", known.into_iter()), "; it has \"node\", \"launcher\"");
        assert_eq!(hint("zzz", [].into_iter()), "; it has none");
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!(nearest("numnodes", ["numNodes", "image"]), Some("numNodes"));
    }

    #[test]
    fn long_and_many_names_stay_out_of_the_message() {
        let long = "x".repeat(400_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(
            hint("zzz", [long.as_str()].into_iter()),
            "; it has 1 with long names"
        );
        let many: Vec<String> = (0..5_000).map(|n| format!("job-{n}")).collect();
        let hint = hint("zzz", many.iter().map(String::as_str));
        assert!(hint.ends_with("\"job-9\" and 4990 more"), "{hint}");
    }
}
