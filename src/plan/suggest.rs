//! "Did you mean": the known name that a mistyped one is nearest to.

/// Ends a message with the nearest known name, or with all of them where none is near.
pub fn closest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let near = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), *name))
        .filter(|(distance, name)| *distance <= 1 + name.len().min(wanted.len()) / 4)
        .min();
    match (near, known.as_slice()) {
        (Some((_, name)), _) => format!("; did you mean {name:?}?"),
        (None, []) => "; it has none".to_owned(),
        (None, names) => {
            let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
            format!("; it has {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_near_name_is_suggested_and_else_all_are_listed() {
        assert_eq!(
            closest("nodes", ["node", "launcher"].into_iter()),
            "; did you mean \"node\"?"
        );
        assert_eq!(
            closest("zzz", ["node", "launcher"].into_iter()),
            "; it has \"node\", \"launcher\""
        );
        assert_eq!(closest("zzz", [].into_iter()), "; it has none");
    }
}
